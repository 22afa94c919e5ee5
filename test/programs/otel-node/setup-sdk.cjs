// The application's own OpenTelemetry set-up: NodeSDK, everything else from the standard variables.
const { NodeSDK } = require('@opentelemetry/sdk-node');

const sdk = new NodeSDK();
sdk.start();
globalThis.stopTracing = () => sdk.shutdown();
