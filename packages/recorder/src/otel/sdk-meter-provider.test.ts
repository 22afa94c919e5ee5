import { expect, it, vi } from 'vitest';
import { readConfig } from '../config.ts';
import { API_VALUE_TYPE } from './api-meters.ts';
import { createSdkMeter } from './sdk-meter-provider.ts';

const exporter = vi.hoisted(() => ({ exports: 0 }));

vi.mock('@opentelemetry/exporter-metrics-otlp-proto', () => ({
  OTLPMetricExporter: class {
    export(): void {
      exporter.exports += 1;
      throw new Error('cannot be serialized');
    }
    async shutdown(): Promise<void> {}
  },
}));

it('tells of an exporter that throws, and asks it again at the next interval', async () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_METRIC_EXPORT_INTERVAL: '5' };
  const faults: unknown[] = [];
  const meter = await new Promise<Awaited<ReturnType<typeof createSdkMeter>>>((resolve, reject) => {
    const made = createSdkMeter(
      readConfig(env, () => {}),
      (error) => {
        faults.push(error);
        if (faults.length === 2) made.then(resolve, reject);
      },
    );
    void made.then(({ provider }) => {
      const options = { description: '', unit: '1', valueType: API_VALUE_TYPE.int };
      provider
        .getMeter('test', '1', { schemaUrl: '' })
        .createObservableCounter('count', options)
        .addCallback((observation) => observation.observe(1));
    });
  });
  expect(faults).toEqual([
    expect.objectContaining({ message: 'cannot be serialized' }),
    expect.objectContaining({ message: 'cannot be serialized' }),
  ]);
  expect(exporter.exports).toBeGreaterThanOrEqual(2);
  await expect(meter.shutdown()).rejects.toThrow('cannot be serialized');
});
