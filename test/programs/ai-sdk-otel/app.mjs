// The AI SDK with its own telemetry switched on: a plain answer and a streamed one.
import { createOpenAI } from '@ai-sdk/openai';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { generateText, streamText } from 'ai';

const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
provider.register();
const openai = createOpenAI({ apiKey: 'sk-test-key', baseURL: `${process.env.TEST_PROVIDER_URL}/v1` });
const options = {
  model: openai.chat('gpt-4o-mini'),
  prompt: 'Say something.',
  experimental_telemetry: { isEnabled: true },
};
const { text } = await generateText(options);
const streamed = await streamText(options).text;
process.stdout.write(`${JSON.stringify([text, streamed])}\n`);
await provider.shutdown();
