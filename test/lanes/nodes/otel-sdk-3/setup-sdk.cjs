// The application's own set-up with SDK 3.
const { OTLPTraceExporter } = require('@opentelemetry/exporter-trace-otlp-proto');
const { NodeSDK } = require('@opentelemetry/sdk-node');

const sdk = new NodeSDK({ traceExporter: new OTLPTraceExporter(), autoDetectResources: false });
sdk.start();
globalThis.stopTracing = () => sdk.shutdown();
