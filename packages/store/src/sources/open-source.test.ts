import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { answerServer, UI_PAGE } from '../testing/answer-server.ts';
import { openTraceSource } from './open-source.ts';

const codeOf = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    (value) => value,
    (error: { code: string; message: string; hint: string }) => ({
      code: error.code,
      text: `${error.message} ${error.hint}`,
    }),
  );

it('tells Jaeger, old Jaeger and Tempo apart by asking', async () => {
  const jaeger = await answerServer((asked) =>
    asked.path === '/ui/api/v3/services' ? { body: { services: [] } } : UI_PAGE,
  );
  const old = await answerServer((asked) =>
    asked.path === '/api/services' ? { body: { data: null, total: 0, errors: null } } : UI_PAGE,
  );
  const tempo = await answerServer({ '/api/echo': { body: 'echo' } });
  const behindProxy = await answerServer((asked) =>
    asked.path === '/api/search/tags' ? { body: { tagNames: ['a'] } } : { status: 502, body: 'bad gateway' },
  );
  expect((await openTraceSource(`${jaeger.url}/ui/search?service=x#top`)).kind).toBe('jaeger');
  expect((await openTraceSource(`${jaeger.url}/ui/`)).location).toBe(`${jaeger.url}/ui`);
  expect((await openTraceSource(old.url)).kind).toBe('jaeger');
  expect((await openTraceSource(tempo.url)).kind).toBe('tempo');
  expect((await openTraceSource(behindProxy.url)).kind).toBe('tempo');
});

it('asks nothing where the address says which it is', async () => {
  const server = await answerServer({});
  expect((await openTraceSource(`jaeger+${server.url}`)).kind).toBe('jaeger');
  expect((await openTraceSource(`tempo+${server.url}/base/`)).location).toBe(`${server.url}/base`);
  expect(server.asked).toEqual([]);
});

it('says that a server is neither, that none is there, that it refuses, and that an address is none', async () => {
  const neither = await answerServer(() => UI_PAGE);
  const refusing = await answerServer(() => ({ status: 403, body: 'no' }));
  const gone = createServer();
  await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
  const { port } = gone.address() as AddressInfo;
  await new Promise((resolve) => gone.close(resolve));
  expect(await codeOf(openTraceSource(neither.url))).toMatchObject({ code: 'OBX_SOURCE_ANSWER' });
  expect(await codeOf(openTraceSource(refusing.url))).toMatchObject({ code: 'OBX_SOURCE_DENIED' });
  expect(await codeOf(openTraceSource(`http://127.0.0.1:${port}`))).toMatchObject({
    code: 'OBX_SOURCE_UNREACHABLE',
    text: expect.stringContaining('ECONNREFUSED'),
  });
  for (const url of ['nowhere', 'ftp://u:geheim@x/', 'http://u:geheim@', '']) {
    const answer = await codeOf(openTraceSource(url));
    expect(answer).toMatchObject({ code: 'OBX_SOURCE_URL' });
    expect(JSON.stringify(answer)).not.toContain('geheim');
  }
  const bad = await codeOf(openTraceSource(neither.url, { headers: { a: 'geheim\nb: c' } }));
  expect(bad).toMatchObject({ code: 'OBX_SOURCE_URL' });
  expect(JSON.stringify(bad)).not.toContain('geheim');
});

it('sends user and password of the address as basic authentication and never prints them', async () => {
  const server = await answerServer((asked) =>
    asked.headers.authorization === `Basic ${Buffer.from('me:ge heim').toString('base64')}`
      ? { body: { services: [] } }
      : { status: 401 },
  );
  const source = await openTraceSource(server.url.replace('//', '//me:ge%20heim@'));
  expect([source.kind, source.location]).toEqual(['jaeger', server.url]);
  const denied = await codeOf(openTraceSource(server.url.replace('//', '//me:falsch@')));
  expect(denied).toMatchObject({ code: 'OBX_SOURCE_DENIED' });
  expect(JSON.stringify(denied)).not.toContain('falsch');
});

it('follows a redirect within its origin and takes its headers to no other', async () => {
  const other = await answerServer(() => ({ body: { services: [] } }));
  const server = await answerServer((asked) => {
    if (asked.path === '/api/v3/services') return { status: 307, headers: { location: '/jaeger/api/v3/services' } };
    if (asked.path === '/jaeger/api/v3/services') return { body: { services: [] } };
    if (asked.path.startsWith('/circle')) return { status: 302, headers: { location: '/circle' } };
    return { status: 302, headers: { location: `${other.url}/login?token=geheim` } };
  });
  const options = { headers: { authorization: 'Bearer t' } };
  expect((await openTraceSource(server.url, options)).kind).toBe('jaeger');
  const away = await codeOf(openTraceSource(`${server.url}/away`, options));
  expect(away).toMatchObject({ code: 'OBX_SOURCE_ANSWER', text: expect.stringContaining(other.url) });
  expect(JSON.stringify(away)).not.toContain('geheim');
  expect(await codeOf(openTraceSource(`${server.url}/circle`, options))).toMatchObject({ code: 'OBX_SOURCE_ANSWER' });
  expect(other.asked).toEqual([]);
});
