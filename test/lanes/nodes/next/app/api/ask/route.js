import OpenAI from 'openai';

export const dynamic = 'force-dynamic';

/** Streams the model's words on, as chats do. */
export async function POST(request) {
  const client = new OpenAI({ maxRetries: 0 });
  const { question } = await request.json();
  const messages = [{ role: 'user', content: question }];
  const stream = await client.chat.completions.create({ model: 'gpt-test', messages, stream: true });
  return new Response(stream.toReadableStream(), { headers: { 'content-type': 'application/x-ndjson' } });
}

/** Next.js' own fetch, which caches. */
export async function GET() {
  const response = await fetch(`${process.env.OPENAI_BASE_URL}/models`, {
    headers: { authorization: 'Bearer sk-test' },
    cache: 'force-cache',
  });
  return Response.json({ status: response.status, models: await response.json() });
}
