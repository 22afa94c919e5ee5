// oxlint-disable-next-line import/no-default-export -- Next.js reads it so
export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  );
}
