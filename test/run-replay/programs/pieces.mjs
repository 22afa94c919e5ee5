// Reads large answers with several clients, at several paces, and prints the pieces in which they came.
import http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

const url = process.argv[2];
const busy = () => {
  let sum = 0;
  for (let i = 0; i < 2e6; i++) sum += i;
  return sum;
};

async function viaFetch(path, eachPiece) {
  const answer = await fetch(`${url}${path}`, { method: 'POST', body: path });
  const sizes = [];
  for await (const piece of answer.body) {
    sizes.push(piece.length);
    await eachPiece();
  }
  console.log('fetch', path, sizes.join(' '));
}

async function viaHttp(path, eachPiece) {
  const answer = await new Promise((resolve) => void http.get(`${url}${path}`, resolve));
  const sizes = [];
  for await (const piece of answer) {
    sizes.push(piece.length);
    await eachPiece();
  }
  console.log('http', path, sizes.join(' '));
}

for (const path of [
  '/whole/16384',
  '/whole/40000',
  '/whole/300000',
  '/pieces/16384',
  '/pieces/20000',
  '/pieces/70000',
]) {
  for (const eachPiece of [() => {}, busy, () => pause(1)]) {
    await viaFetch(path, eachPiece);
    await viaHttp(path, eachPiece);
  }
}
await Promise.all(
  [20_000, 40_000, 60_000].flatMap((size) => [viaFetch(`/pieces/${size}`, busy), viaHttp(`/whole/${size}`, busy)]),
);
