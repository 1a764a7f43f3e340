import { deepStrictEqual as equal, ok } from 'node:assert'
import { between } from '@csi-sidecars/disturb'
import { LEASES, type Lease } from '@csi-sidecars/kube-types'
import { APPS } from '@csi-sidecars/sidecars'
import { type Gate, late, raw, refusal, retryAfter } from '../harness/api/gate.ts'
import { lease } from '../harness/api/objects.ts'
import type { Fault } from '../harness/api/wire.ts'
import type { TestContext } from '../harness/context.ts'
import { leaseName } from '../harness/subject.ts'
import { type FaultCase, survives } from './case.ts'

const TIMES = [
  '--leader-election-lease-duration=4s',
  '--leader-election-renew-deadline=3s',
  '--leader-election-retry-period=500ms',
]

/** Specs of Leases that exist before the sidecar starts. Each Lease is free, or expires soon. */
const LEFT: Readonly<Record<string, Lease['spec']>> = {
  'an empty spec': {},
  'a holder who never renewed': { holderIdentity: 'other', leaseDurationSeconds: 1 },
  'a holder of long ago': spec({ renewTime: '2001-01-01T00:00:00.000000Z' }),
  'a holder of the future': spec({ renewTime: '2101-01-01T00:00:00.000000Z' }),
  'no duration': { holderIdentity: 'other', renewTime: '2001-01-01T00:00:00.000000Z' },
  'an empty holder': spec({ holderIdentity: '' }),
  'a million terms': spec({ leaseTransitions: 1_000_000 }),
  'a strange name': spec({ holderIdentity: '\u202e"\n<x>' }),
}

function spec(change: NonNullable<Lease['spec']>): Lease['spec'] {
  return { holderIdentity: 'other', leaseDurationSeconds: 1, renewTime: '2001-01-01T00:00:00.000000Z', ...change }
}

/** Faults that are injected into requests for the Lease, by name. */
const ANSWERS: Readonly<Record<string, () => Fault>> = {
  'refused with 403': () => refusal(403, 'Forbidden', 'no'),
  'refused with 404': () => refusal(404, 'NotFound', 'no'),
  'refused with 409': () => refusal(409, 'Conflict', 'no'),
  'refused with 429': () => refusal(429, 'TooManyRequests', 'no'),
  'refused with 429 for an hour': () => retryAfter(3600, refusal(429, 'TooManyRequests', 'no')),
  'refused with 500': () => refusal(500, 'InternalError', 'no'),
  'answered with nothing': () => raw(200, ''),
  'answered with {}': () => raw(200, '{}'),
  'answered with null': () => raw(200, 'null'),
  'answered with a spec that is null': () => raw(200, '{"kind":"Lease","metadata":{"name":"x"},"spec":null}'),
  'answered with times that are none': () =>
    raw(200, '{"metadata":{"name":"x","resourceVersion":"1"},"spec":{"holderIdentity":"y","renewTime":"soon"}}'),
  'answered in HTML': () => raw(502, '<html>'),
  cut: () => ({ kind: 'cut' }),
  'done, and the answer lost': () => ({ kind: 'loseAnswer' }),
  'answered late': () => late(1500),
}

export const leaseCases: readonly FaultCase[] = APPS.flatMap((app) => [
  ...Object.entries(LEFT).map(
    ([fault, left]): FaultCase => ({
      app,
      kind: 'leases',
      fault: `there is one with ${fault}`,
      run: async (t) => {
        await t.create(LEASES, lease(leaseName(app, t.driverName), left))
        await leads(t, await t.gate())
      },
    }),
  ),
  ...Object.entries(ANSWERS).flatMap(([answer, fault]) =>
    (['READ', 'PUT'] as const).map(
      (method): FaultCase => ({
        app,
        kind: 'leases',
        fault: `${method} is ${answer}`,
        run: async (t, random) => {
          const gate = await t.gate()
          gate.inject(`${method} leases`, fault, { times: between(random, 1, 3) })
          await leads(t, gate)
        },
      }),
    ),
  ),
])

/** Checks that the sidecar becomes the leader and does its work, but sends no call or write before it leads. */
async function leads(t: TestContext, gate: Gate): Promise<void> {
  const args = ['--leader-election', '--leader-election-namespace=default', ...TIMES]
  const { driver } = await survives(t, { gate, args })
  const leaseWrite = gate.writes('leases').find(({ code }) => code < 300)
  ok(leaseWrite !== undefined, 'it never took the lease')
  const early = driver.calls.filter(({ method, start }) => /^Controller(P|E)/.test(method) && start < leaseWrite.time)
  ok(early.length === 0, `calls without the lease: ${JSON.stringify(early)}`)
  equal(
    gate.writes().filter(({ time }) => time < leaseWrite.time),
    [],
  )
}
