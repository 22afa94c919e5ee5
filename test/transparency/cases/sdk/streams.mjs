/** Streams of the SDK, and the ways in which they end. */
import { DONE, event, frame, json, messages, sse, twoFrames } from '../forms.mjs';

const request = { model: 'gpt-test', messages, stream: true };

/** The upstream's end is part of what the program causes, so it is waited for. */
const upstreamClosed = async ({ until, observe }) => observe('upstream closed', await until('closed0'));

export const cases = {
  'to the end': {
    sample: true,
    endings: ['complete/200'],
    run: async ({ openai, observe }) => {
      const stream = await (await openai()).chat.completions.create(request);
      observe('stream', { class: stream.constructor.name, own: Object.keys(stream) });
      for await (const chunk of stream) observe('chunk', chunk);
    },
  },
  'the usage chunk': {
    run: async ({ openai, observe }) => {
      const client = await openai();
      const stream = await client.chat.completions.create({ ...request, stream_options: { include_usage: true } });
      for await (const chunk of stream) observe('usage', chunk.usage);
    },
  },
  'n: 2': {
    run: async ({ openai, observe }) => {
      const client = await openai();
      observe('plain', await client.chat.completions.create({ model: 'gpt-test', messages, n: 2 }));
      for await (const chunk of await client.chat.completions.create({ ...request, n: 2 }))
        observe('chunk', chunk.choices);
    },
  },
  'break after the first chunk aborts the upstream': {
    sample: true,
    endings: ['caller_stopped_reading/200'],
    serve: twoFrames,
    run: async (context) => {
      const stream = await (await context.openai()).chat.completions.create(request);
      for await (const chunk of stream) {
        context.observe('chunk', chunk);
        break;
      }
      context.observe('aborted', stream.controller.signal);
      await upstreamClosed(context);
    },
  },
  'AbortSignal in mid-stream': {
    sample: true,
    endings: ['caller_abort/200'],
    serve: twoFrames,
    run: async (context) => {
      const controller = new AbortController();
      const client = await context.openai();
      const stream = await client.chat.completions.create(request, { signal: controller.signal });
      await context.failing('iterating', async () => {
        for await (const chunk of stream) {
          context.observe('chunk', chunk);
          controller.abort(new Error('the user left'));
        }
        return 'ended';
      });
      await upstreamClosed(context);
    },
  },
  'stream.controller.abort() in mid-stream': {
    serve: twoFrames,
    run: async (context) => {
      const stream = await (await context.openai()).chat.completions.create(request);
      for await (const chunk of stream) {
        context.observe('chunk', chunk);
        stream.controller.abort();
      }
      await upstreamClosed(context);
    },
  },
  'the socket dropped in mid-stream': {
    sample: true,
    endings: ['cut/200'],
    serve: (_request, response, { until }) => {
      sse(response);
      response.write(frame('one'));
      response.write(frame('two'));
      void until('got').then(() => response.socket.destroy());
    },
    run: async ({ openai, observe, failing, tell }) => {
      const stream = await (await openai()).chat.completions.create(request);
      let count = 0;
      await failing('iterating', async () => {
        for await (const chunk of stream) {
          observe('chunk', chunk);
          count += 1;
          if (count === 2) await tell('got');
        }
      });
    },
  },
  'an error frame': {
    script: 'error-frame=3',
    run: async ({ openai, observe, failing }) => {
      const stream = await (await openai()).chat.completions.create(request);
      await failing('iterating', async () => {
        for await (const chunk of stream) observe('chunk', chunk);
      });
    },
  },
  'never iterated': {
    sample: true,
    run: async ({ openai, observe }) => {
      const stream = await (await openai()).chat.completions.create(request);
      observe('stream', stream.constructor.name);
    },
    // Where the wire stood when the process ended is a matter of moments.
    quiet: true,
  },
  'iterated twice': {
    run: async ({ openai, texts, observe, failing }) => {
      const stream = await (await openai()).chat.completions.create(request);
      observe('once', await texts(stream));
      await failing('twice', () => texts(stream));
    },
  },
  'tee()': {
    run: async ({ openai, texts, observe }) => {
      const [left, right] = (await (await openai()).chat.completions.create(request)).tee();
      observe('left', left.constructor.name);
      const both = await Promise.all([texts(left), texts(right)]);
      observe('both', both);
    },
  },
  'toReadableStream()': {
    run: async ({ openai, observe, load }) => {
      const stream = await (await openai()).chat.completions.create(request);
      const readable = stream.toReadableStream();
      observe('readable', { class: readable.constructor.name, platform: readable instanceof ReadableStream });
      const { Stream } = await load('openai/streaming');
      for await (const chunk of Stream.fromReadableStream(readable, new AbortController())) observe('chunk', chunk);
    },
  },
  'the .stream() helper': {
    run: async ({ openai, observe }) => {
      const stream = (await openai()).chat.completions.stream({ model: 'gpt-test', messages });
      for (const name of ['connect', 'chunk', 'content', 'message', 'finalChatCompletion', 'error', 'abort', 'end'])
        stream.on(name, (...values) => observe(name, values));
      observe('final', await stream.finalChatCompletion());
    },
  },
  'the .stream() helper aborted': {
    serve: twoFrames,
    run: async (context) => {
      const stream = (await context.openai()).chat.completions.stream({ model: 'gpt-test', messages });
      for (const name of ['chunk', 'error', 'abort', 'end'])
        stream.on(name, (...values) => context.observe(name, values));
      stream.once('chunk', () => stream.abort());
      await context.failing('final', () => stream.finalContent());
      await upstreamClosed(context);
    },
  },
  'tool calls interleaved': {
    serve: (_request, response) => {
      sse(response);
      response.write(event({ delta: { role: 'assistant', content: null } }));
      const call = (index, fields) => event({ delta: { tool_calls: [{ index, ...fields }] } });
      for (const index of [0, 1]) {
        const start = { id: `call_${index}`, type: 'function', function: { name: 'weather', arguments: '' } };
        response.write(call(index, start));
      }
      const halves = [
        ['{"city":', '"Oslo"}'],
        ['{"city":', '"Rome"}'],
      ];
      for (const half of [0, 1])
        for (const index of [0, 1]) response.write(call(index, { function: { arguments: halves[index][half] } }));
      response.end(event({ delta: {}, finish_reason: 'tool_calls' }) + DONE);
    },
    run: async ({ openai, observe }) => {
      const stream = (await openai()).chat.completions.stream({ model: 'gpt-test', messages });
      for await (const chunk of stream) observe('chunk', chunk);
      observe('message', await stream.finalMessage());
    },
  },
  'a character split over chunks': {
    script: 'split=7',
    run: async ({ openai, observe, texts }) => {
      observe('texts', await texts(await (await openai()).chat.completions.create(request)));
    },
  },
  'an answer that is no stream': {
    serve: (_request, response) => json(response, '{"not":"a stream"}'),
    run: async ({ openai, observe, failing, texts }) => {
      const client = await openai();
      await failing('creating', async () => {
        observe('texts', await texts(await client.chat.completions.create(request)));
        return 'ended';
      });
    },
  },
  'two streams read in turns': {
    run: async ({ openai, observe }) => {
      const client = await openai();
      const streams = await Promise.all([
        client.chat.completions.create(request),
        client.chat.completions.create({ ...request, messages: [{ role: 'user', content: 'the other' }] }),
      ]);
      const iterators = streams.map((stream) => stream[Symbol.asyncIterator]());
      for (let open = true; open; ) {
        open = false;
        for (const iterator of iterators) {
          const { value, done } = await iterator.next();
          observe('next', { value, done });
          open ||= !done;
        }
      }
    },
  },
};
