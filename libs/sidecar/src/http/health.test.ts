import { FakeClock } from '@csi-sidecars/base'
import { Metrics } from '@csi-sidecars/telemetry'
import { describe, expect, test } from '@jest/globals'
import type { Service } from '../serve/service.ts'
import { Health } from './health.ts'

const LATE = 'failed election to renew leadership on lease '

/** What /healthz/leader-election says where the electors of these roles say this. */
function notElected(roles: Readonly<Record<string, string | undefined>>): readonly string[] | undefined {
  const health = new Health(new FakeClock(), new Metrics())
  health.started({
    roles: Object.entries(roles).map(([name, unhealthyReason]) => ({ name, elector: { unhealthyReason } })),
    // Nothing else is asked here.
  } as unknown as Service)
  const reasons = health.checks(true).leaderElection?.()
  health.stop()
  return reasons
}

describe('a lease that was not renewed', () => {
  test('of a process with one sidecar is said as the Go originals say it', () => {
    expect(notElected({ 'csi-attacher': LATE })).toEqual([LATE])
  })

  test('of one among several is said with its name', () => {
    expect(notElected({ 'csi-attacher': undefined, 'csi-resizer': LATE })).toEqual([`csi-resizer: ${LATE}`])
  })
})
