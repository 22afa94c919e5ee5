import OpenAI from 'openai';

export const dynamic = 'force-dynamic';

/** A page that is rendered with what the model says. */
// oxlint-disable-next-line import/no-default-export -- Next.js reads it so
export default async function Page() {
  const client = new OpenAI({ maxRetries: 0 });
  const messages = [{ role: 'user', content: 'hello from a page' }];
  const answer = await client.chat.completions.create({ model: 'gpt-test', messages });
  return <main>{answer.choices[0].message.content}</main>;
}
