// A stdio MCP server with one tool: whatever else is written to stdout breaks its protocol.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const server = new McpServer({ name: 'weather', version: '1.0.0' });
server.registerTool('weather', { description: 'Weather of a city', inputSchema: { city: z.string() } }, ({ city }) => ({
  content: [{ type: 'text', text: `Rain in ${city}` }],
}));
await server.connect(new StdioServerTransport());
