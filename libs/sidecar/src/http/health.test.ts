import { FakeClock } from '@csi-sidecars/base/testing'
import { Metrics } from '@csi-sidecars/telemetry'
import { describe, expect, test } from '@jest/globals'
import type { StartedService } from '../serve/serve.ts'
import { Health } from './health.ts'

const ANSWERS = { whyNotReady: async () => undefined }
const LATE = 'failed election to renew leadership on lease '

/** Returns the problems in the answer of /healthz/leader-election. `roles` has the `unhealthyReason` by app name. */
async function notElected(roles: Readonly<Record<string, string | undefined>>): Promise<readonly string[] | undefined> {
  const health = new Health(new FakeClock(), new Metrics())
  const service = {
    roles: Object.entries(roles).map(([name, unhealthyReason]) => ({ name, elector: { unhealthyReason } })),
    // The test needs no other fields of the service.
  } as unknown as StartedService
  health.setService({ service, answers: ANSWERS })
  const reasons = await health.checks(true).leaderElection?.()
  health.stop()
  return reasons
}

describe('unhealthy leases', () => {
  test('the health check of one sidecar reports a late lease renewal with the message of the Go sidecar', async () => {
    expect(await notElected({ 'csi-attacher': LATE })).toEqual([LATE])
  })

  test('the health check names the sidecar with a late lease renewal if several sidecars run', async () => {
    expect(await notElected({ 'csi-attacher': undefined, 'csi-resizer': LATE })).toEqual([`csi-resizer: ${LATE}`])
  })
})

describe('readiness', () => {
  async function notReady(state: string, whyNotReady?: string): Promise<readonly string[] | undefined> {
    const health = new Health(new FakeClock(), new Metrics())
    const driver = { name: 'csi.example.com', state, lostForMs: 3_000 }
    // The test needs no other fields of the service.
    const service = { driver, caches: [{ name: 'Volumes', synced: false }] } as unknown as StartedService
    health.setService({ service, answers: { whyNotReady: async () => whyNotReady } })
    const reasons = await health.checks(true).ready?.()
    health.stop()
    return reasons
  }
  const CACHE = 'cache of Volumes is not filled yet'

  test('/readyz reports that a connected driver is not ready if the driver has not answered', async () => {
    expect(await notReady('ready')).toEqual([CACHE])
    expect(await notReady('ready', 'it has not answered')).toEqual([CACHE, 'it has not answered'])
  })

  test('/readyz reports a lost driver as gone, and does not ask the driver', async () => {
    expect(await notReady('lost', 'unused')).toEqual([CACHE, 'CSI driver csi.example.com is gone for 3 s'])
  })
})
