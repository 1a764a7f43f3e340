import { between, pick } from '@csi-sidecars/disturb'
import { APPS } from '@csi-sidecars/sidecars'
import { type FaultCase, resourcesWith, survives } from './case.ts'

const error = (code: number | undefined, reason: string, after?: number): string =>
  JSON.stringify({
    type: 'ERROR',
    object: { kind: 'Status', status: 'Failure', code, reason, message: reason, details: { retryAfterSeconds: after } },
  })

/** Faults in place of the first frames of a watch, a line each. */
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
    Object.entries(FRAMES).map(([what, bytes]) => ({
      app,
      kind: 'frames',
      what: `a watch of ${resource}: ${what}`,
      run: async (t, random) => {
        const gate = await t.gate()
        // Each causes the longest pause.
        const times = what.includes('for an hour') ? 1 : between(random, 1, 3)
        const ending = pick(random, ['end', 'cut'] as const)
        gate.inject(`WATCH ${resource}`, { kind: 'raw', code: 200, bytes, ending }, { times })
        await survives(t, { gate })
      },
    })),
  ),
)
