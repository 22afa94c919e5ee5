/**
 * What the recorded sessions say about sessions and tool results, and a check of what somebody (the codec alone, or a whole recorder)
 * made of them. Expected values come from the raw bodies, not from the parsed view.
 */
const openAiPath = /\/(?:chat\/completions|responses)$/;

const isOpenAi = ({ request, response }) =>
  request.method === 'POST' && openAiPath.test(request.path.replace(/[?#].*$/, '')) && response !== undefined;

const parse = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const requestItems = (body) => {
  const items = body?.messages ?? body?.input;
  if (items === undefined) return [];
  return (Array.isArray(items) ? items : [items]).map((item) => JSON.stringify(item));
};

/** Ids of tool calls anywhere in an answer, and the answer's own id. */
function idsOfAnswer({ body_text: text }) {
  const calls = new Set();
  let id;
  const documents = [];
  const whole = parse(text ?? '');
  if (whole !== undefined) documents.push(whole);
  else for (const line of (text ?? '').split('\n')) if (line.startsWith('data:')) documents.push(parse(line.slice(5)));
  for (const document of documents) {
    if (typeof document !== 'object' || document === null) continue;
    const response = document.response ?? document;
    if (typeof response.id === 'string') id ??= response.id;
    for (const choice of document.choices ?? []) {
      for (const call of (choice.message ?? choice.delta)?.tool_calls ?? []) if (call.id) calls.add(call.id);
    }
    for (const item of [...(response.output ?? []), document.item]) if (item?.call_id) calls.add(item.call_id);
  }
  return { id, calls };
}

/** Ids of the tool results in a request. */
function resultIds(body) {
  const ids = [];
  for (const message of Array.isArray(body?.messages) ? body.messages : []) {
    if (message.role === 'tool' && message.tool_call_id) ids.push(message.tool_call_id);
  }
  for (const item of Array.isArray(body?.input) ? body.input : []) {
    if (/_output$/.test(item?.type ?? '') && item.call_id) ids.push(item.call_id);
  }
  return ids;
}

/**
 * The sessions to send: those of several calls to chat completions or responses. `linked` says that each later request extends an
 * earlier one of the session, or names its response; `results` are the tool results (each once) whose id an earlier answer carries.
 */
export function expectedSessions(exchanges) {
  const bySession = new Map();
  for (const exchange of exchanges) {
    if (!isOpenAi(exchange)) continue;
    bySession.set(exchange.session_id, [...(bySession.get(exchange.session_id) ?? []), exchange]);
  }
  const sessions = [];
  for (const [id, calls] of bySession) {
    if (calls.length < 2) continue;
    const earlier = [];
    const results = [];
    const seen = new Set();
    let linked = true;
    for (const [i, call] of calls.entries()) {
      const body = parse(call.request.body_text ?? '');
      const items = requestItems(body);
      for (const resultId of resultIds(body)) {
        const askedBy = earlier.findLast((other) => other.answer.calls.has(resultId));
        if (askedBy === undefined || seen.has(resultId)) continue;
        seen.add(resultId);
        results.push({ callId: resultId, n: call.n, askedBy: askedBy.n });
      }
      const names = body?.previous_response_id ?? undefined;
      const extended = earlier.some(
        (other) =>
          (names !== undefined && other.answer.id === names) ||
          (other.items.length > 0 &&
            other.items.length < items.length &&
            other.items.every((item, at) => item === items[at])),
      );
      if (i > 0 && !extended) linked = false;
      earlier.push({ n: call.n, items, answer: idsOfAnswer(call.response) });
    }
    sessions.push({ id, calls, linked, results });
  }
  return sessions;
}

/**
 * Gives ids of responses and conversations that stand in more than one session (the source masked them all alike) a form of their own
 * per session, of the same length, as they were before. Changes the exchanges.
 */
export function unmaskIds(sessions) {
  const owners = new Map();
  const pattern = /\b(?:conv|resp)_[0-9a-f]{20,}\b/g;
  const bodies = (call) => [call.request, call.response];
  for (const session of sessions) {
    for (const message of session.calls.flatMap(bodies)) {
      for (const [id] of (message.body_text ?? '').matchAll(pattern))
        owners.set(id, (owners.get(id) ?? new Set()).add(session.id));
    }
  }
  for (const [at, session] of sessions.entries()) {
    const own = String(at).padStart(6, '0');
    for (const message of session.calls.flatMap(bodies)) {
      if (typeof message.body_text !== 'string') continue;
      message.body_text = message.body_text.replace(pattern, (id) =>
        owners.get(id).size > 1 ? id.slice(0, -6) + own : id,
      );
    }
  }
  return [...owners].filter(([, ids]) => ids.size > 1).map(([id, ids]) => ({ id, sessions: [...ids] }));
}

/** The order in which calls are sent: session after session, or `width` sessions at a time, call by call. */
export function sendingOrder(sessions, width = 1) {
  const order = [];
  const waiting = sessions.map((session) => [...session.calls]);
  const open = waiting.splice(0, width);
  while (open.length > 0) {
    for (let at = 0; at < open.length; at += 1) {
      const call = open[at].shift();
      if (call !== undefined) order.push(call);
      if (open[at].length === 0) {
        const next = waiting.shift();
        if (next === undefined) open.splice(at--, 1);
        else open[at] = next;
      }
    }
  }
  return order;
}

/** Whether a request of one session sends back tool calls that the other's answers asked for: the source cut one conversation in two. */
function areOne(asking, sending) {
  const asked = new Set(asking.calls.flatMap((call) => [...idsOfAnswer(call.response).calls]));
  const own = new Set(sending.calls.flatMap((call) => [...idsOfAnswer(call.response).calls]));
  return sending.calls.some((call) =>
    resultIds(parse(call.request.body_text ?? '')).some((id) => asked.has(id) && !own.has(id)),
  );
}

/**
 * Compares what was made of the calls with what is expected.
 * @param sessions from {@link expectedSessions}
 * @param sessionOf session id by exchange number
 * @param joined tool results that were inferred: `{callId, n, askedBy}` with exchange numbers, `n` of the request that carried it
 */
export function checkSessions(sessions, sessionOf, joined) {
  const linked = sessions.filter((session) => session.linked);
  const whole = linked.filter(
    (session) => new Set(session.calls.map((call) => sessionOf.get(call.n) ?? `missing ${call.n}`)).size === 1,
  );
  const owners = new Map();
  for (const session of sessions) {
    for (const call of session.calls) {
      const made = sessionOf.get(call.n);
      if (made === undefined) continue;
      owners.set(made, (owners.get(made) ?? new Set()).add(session.id));
    }
  }
  const mergers = [...owners].filter(([, ids]) => ids.size > 1).map(([made, ids]) => ({ made, sessions: [...ids] }));
  const related = ({ sessions: ids }) => {
    const [first, ...others] = ids.map((id) => sessions.find((session) => session.id === id));
    return others.every((other) => areOne(first, other) || areOne(other, first));
  };
  const key = (result) => `${result.callId} ${result.askedBy}`;
  const made = new Set(joined.map(key));
  const expected = sessions.flatMap((session) => session.results);
  return {
    linkedSessions: linked.length,
    togetherRight: whole.length,
    tornApart: linked.filter((session) => !whole.includes(session)).map((session) => session.id),
    mergedWrongly: mergers.filter((merger) => !related(merger)),
    mergedSinceOne: mergers.filter(related),
    toolResults: expected.length,
    toolResultsJoined: expected.filter((result) => made.has(key(result))).length,
    toolResultsMissed: expected.filter((result) => !made.has(key(result))),
  };
}
