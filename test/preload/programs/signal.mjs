/** Holds a call open and says so; how it reacts to signals is the second argument. */
const [url, reaction] = process.argv.slice(2);
if (reaction === 'handler') {
  process.on('SIGTERM', () => {
    console.log('handled');
    process.exit(7);
  });
} else if (reaction === 'stubborn') {
  let count = 0;
  process.on('SIGTERM', () => {
    console.log(`no ${++count}`);
    if (count === 2) process.exit(0);
    else process.kill(process.pid, 'SIGTERM');
  });
} else if (reaction === 'counting') {
  // What the package signal-exit does: with no listener but its own it ends the process itself.
  const own = () => {
    if (process.listeners('SIGTERM').length !== 1) return console.log('somebody else will');
    process.removeListener('SIGTERM', own);
    process.kill(process.pid, 'SIGTERM');
  };
  process.on('SIGTERM', own);
} else if (reaction === 'throw') {
  setTimeout(() => {
    throw new Error('uncaught');
  }, 300);
}
const response = await fetch(`${url}/hold/v1/chat/completions`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"model":"m","messages":[]}',
});
for await (const _ of response.body) console.log('got some');
