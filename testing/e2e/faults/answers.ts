import { between, pick, type Random } from '@csi-sidecars/disturb'
import { APPS } from '@csi-sidecars/sidecars'
import { late, raw, refusal, retryAfter } from '../harness/api/gate.ts'
import type { Fault } from '../harness/api/wire.ts'
import type { TestedApp } from '../harness/subject.ts'
import { eventually } from '../harness/waiting.ts'
import { type FaultCase, resourcesWith, survives, touch } from './case.ts'

/** A kind of request that a sidecar sends for its work, such as a PATCH of one resource. */
interface Asked {
  readonly request: string
  readonly method: 'READ' | 'PATCH' | 'POST'
  readonly resource: string
}

const read = (resource: string): Asked => ({ request: `reading ${resource}`, method: 'READ', resource })
const patch = (resource: string): Asked => ({ request: `patching ${resource}`, method: 'PATCH', resource })

function requestsOf(app: TestedApp): readonly Asked[] {
  const created = resourcesWith(app, 'create').map((resource): Asked => {
    return { request: `writing ${resource}`, method: 'POST', resource }
  })
  const patched = resourcesWith(app, 'patch').filter((resource) => resource !== 'events')
  return [...resourcesWith(app, 'get').map(read), ...patched.map(patch), ...created]
}

interface AnswerFault {
  readonly name: string
  readonly fault: () => Fault
  /** True if the sidecar does not retry after this answer until the object changes. */
  readonly ends?: boolean
  /** True to inject the fault only once, because this answer causes the longest retry delay. */
  readonly once?: boolean
}

const status = (code: number, reason: string, ends = false): AnswerFault => ({
  name: `${code} ${reason}`,
  fault: () => refusal(code, reason, 'a fault of the test'),
  ends,
})
const waiting = (after: string): AnswerFault => ({
  name: `429 with Retry-After: ${after}`,
  fault: () => retryAfter(after, refusal(429, 'TooManyRequests', 'too many')),
  once: true,
})

const WAIT_IN_TEXT = '{"kind":"Status","code":500,"message":"wait","details":{"retryAfterSeconds":"1"}}'

const ANSWERS: readonly AnswerFault[] = [
  status(400, 'BadRequest'),
  status(401, 'Unauthorized'),
  status(403, 'Forbidden'),
  status(404, 'NotFound', true),
  status(409, 'Conflict'),
  status(410, 'Expired'),
  status(422, 'Invalid', true),
  status(429, 'TooManyRequests'),
  status(500, 'InternalError'),
  status(503, 'ServiceUnavailable'),
  status(504, 'Timeout'),
  ...['1', '3600', '-5', 'soon', '1e9'].map(waiting),
  { name: '502 in HTML', fault: () => raw(502, '<html>Bad Gateway</html>', { 'content-type': 'text/html' }) },
  { name: '500 without a body', fault: () => raw(500, '') },
  { name: '500 whose retryAfterSeconds is a text', fault: () => raw(500, WAIT_IN_TEXT) },
  { name: '302 to another place', fault: () => raw(302, '', { location: 'https://127.0.0.1:1/' }) },
  { name: '200 that is no JSON', fault: () => raw(200, 'password: hunter2') },
  { name: '200 with {}', fault: () => raw(200, '{}') },
  { name: '200 with null', fault: () => raw(200, 'null') },
  { name: '200 with a list', fault: () => raw(200, '[{}]') },
  { name: '200 without a body', fault: () => raw(200, '') },
  { name: '200 with a Status', fault: () => raw(200, '{"kind":"Status","apiVersion":"v1","status":"Success"}') },
  { name: '200 that ends in the middle', fault: () => ({ ...raw(200, '{"kind":"X","meta'), ending: 'cut' }) as Fault },
  { name: '200 that says it is zipped', fault: () => raw(200, 'no gzip', { 'content-encoding': 'gzip' }) },
  { name: 'a connection that is cut', fault: () => ({ kind: 'cut' }) },
  { name: 'an answer that is lost', fault: () => ({ kind: 'loseAnswer' }) },
  { name: 'an answer that takes a second', fault: () => late(1000) },
]

export const answerCases: readonly FaultCase[] = APPS.flatMap((app) =>
  requestsOf(app).flatMap((asked) =>
    ANSWERS.map((answer) => ({
      app,
      kind: 'answers',
      fault: `${asked.request}: ${answer.name}`,
      run: (t, random) => answered(t, { asked, answer, random }),
    })),
  ),
)

interface Injection {
  readonly asked: Asked
  readonly answer: AnswerFault
  readonly random: Random
}

async function answered(t: Parameters<FaultCase['run']>[0], { asked, answer, random }: Injection): Promise<void> {
  const { method, resource } = asked
  const { fault, ends = false, once = false } = answer
  const gate = await t.gate()
  const injected = gate.inject(`${method} ${resource}`, fault, { times: once ? 1 : between(random, 1, 3) })
  await survives(t, { gate }, async () => {
    if (!ends) return
    await eventually('an injected fault', () => injected.count > 0)
    injected.end()
    await touch(t)
  })
  if (injected.count === 0) throw new Error('no fault was injected')
}

const error = (code: number | undefined, reason: string, after?: number): string =>
  JSON.stringify({
    type: 'ERROR',
    object: { kind: 'Status', status: 'Failure', code, reason, message: reason, details: { retryAfterSeconds: after } },
  })

/** Texts that replace the first events of a watch, by name. */
const FRAMES: Readonly<Record<string, string | Buffer>> = {
  'no JSON': 'hello\n',
  'half a frame': '{"type":"ADDED","object":{"metadata":{"na',
  'a number': '7\n',
  null: 'null\n',
  'a list': '[]\n',
  'nothing but line breaks': '\n\n\n\n',
  'no type': '{"object":{"metadata":{"name":"x","resourceVersion":"5"}}}\n',
  'an unknown type': '{"type":"RENAMED","object":{"metadata":{"name":"x","resourceVersion":"5"}}}\n',
  'no object': '{"type":"ADDED"}\n',
  'an object that is null': '{"type":"ADDED","object":null}\n',
  'an object that is text': '{"type":"MODIFIED","object":"x"}\n',
  'no metadata': '{"type":"ADDED","object":{"kind":"X"}}\n',
  'no name': '{"type":"ADDED","object":{"metadata":{"resourceVersion":"5"}}}\n',
  'no version': '{"type":"DELETED","object":{"metadata":{"name":"x"}}}\n',
  'a bookmark without a version': '{"type":"BOOKMARK","object":{"metadata":{}}}\n',
  'another kind': '{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"x","resourceVersion":"1"},"spec":7}}\n',
  'text that is no UTF-8': Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d, 0x0a]),
  'a frame of 3 MB': `{"type":"ADDED","object":{"metadata":{"name":"${'x'.repeat(3_000_000)}"}}}\n`,
  'a key __proto__':
    '{"type":"ADDED","object":{"metadata":{"name":"x","labels":{"__proto__":"y"}}},"__proto__":null}\n',
  'deep nesting': `{"type":"ADDED","object":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}\n`,
  'ERROR 410': `${error(410, 'Expired')}\n`,
  'ERROR 429 for an hour': `${error(429, 'TooManyRequests', 3600)}\n`,
  'ERROR 500': `${error(500, 'InternalError')}\n`,
  'ERROR 504': `${error(504, 'Timeout')}\n`,
  'ERROR without a code': `${error(undefined, 'Unknown')}\n`,
  'ERROR without an object': '{"type":"ERROR"}\n',
}

export const frameCases: readonly FaultCase[] = APPS.flatMap((app) =>
  resourcesWith(app, 'watch').flatMap((resource) =>
    Object.entries(FRAMES).map(([frame, bytes]) => ({
      app,
      kind: 'frames',
      fault: `a watch of ${resource}: ${frame}`,
      run: async (t, random) => {
        const gate = await t.gate()
        // This frame is sent only once, because it causes the longest pause before the next watch.
        const times = frame.includes('for an hour') ? 1 : between(random, 1, 3)
        const ending = pick(random, ['end', 'cut'] as const)
        gate.inject(`WATCH ${resource}`, { kind: 'raw', code: 200, bytes, ending }, { times })
        await survives(t, { gate })
      },
    })),
  ),
)
