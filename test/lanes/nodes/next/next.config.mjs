/** The standalone output, into a folder that git passes over. */
const config = {
  output: 'standalone',
  distDir: '.cache/next',
  outputFileTracingRoot: import.meta.dirname,
};

// oxlint-disable-next-line import/no-default-export -- Next.js reads it so
export default config;
