import { CODES } from '@csi-sidecars/csi'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, VOLUME_ATTRIBUTES_CLASSES } from '@csi-sidecars/kube-types'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { attributesClass, CLAIM_REF, claim, volume } from '../src/testing/builders.ts'
import { failing } from '../src/testing/fake-driver.ts'
import { ResizerFixture } from '../src/testing/fixture.ts'

const EXPAND = 'ControllerExpandVolume'
const MODIFY = 'ControllerModifyVolume'
const EDIT = { spec: { resources: { requests: { storage: '2Gi' } }, volumeAttributesClassName: 'gold' } }

let fixture: ResizerFixture

beforeEach(async () => {
  fixture = new ResizerFixture()
  fixture.cluster.store(VOLUME_ATTRIBUTES_CLASSES, attributesClass('gold'))
  fixture.cluster.store(PERSISTENT_VOLUMES, volume())
  fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim())
  await fixture.start()
})

/** Delays each request to the API server by this time. */
function slowServer(ms: number): void {
  fixture.cluster.before = () => fixture.clock.sleep(ms)
}

async function edit(change: object = EDIT): Promise<void> {
  fixture.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, change)
  await fixture.clock.settle()
}

const conflicts = (): readonly unknown[] => fixture.cluster.requests.filter(({ verb }) => verb === 'get')
const calledAt = (name: string): readonly number[] =>
  fixture.driver.calls.flatMap(({ method, at }) => (method === name ? [at] : []))

describe('both controllers', () => {
  it('after an edit of size and class, the resizer sends six writes without a conflict', async () => {
    slowServer(5)
    await edit()
    await fixture.clock.advance(1_000)
    expect(fixture.claim.status).toEqual({
      phase: 'Bound',
      capacity: { storage: '2Gi' },
      allocatedResources: { storage: '2Gi' },
      currentVolumeAttributesClassName: 'gold',
    })
    expect(fixture.cluster.writes).toHaveLength(6)
    expect(conflicts()).toEqual([])
    expect(fixture.errors).toEqual([])
  })

  it('after an edit of size and class, both CSI calls start within the time of one write', async () => {
    slowServer(5)
    await edit()
    await fixture.clock.advance(1_000)
    const [expandedAt, modifiedAt] = [calledAt(EXPAND)[0] ?? 0, calledAt(MODIFY)[0] ?? 0]
    expect(Math.abs(expandedAt - modifiedAt)).toBe(5)
  })

  it('the resizer sends the expansion and the modification of a claim to a slow driver at the same time', async () => {
    fixture.driver.expand = async ({ request }) => {
      await fixture.clock.sleep(9_000)
      return { capacityBytes: (request as { capacityRange: { requiredBytes: bigint } }).capacityRange.requiredBytes }
    }
    fixture.driver.modify = () => fixture.clock.sleep(5_000)
    await edit()
    expect(fixture.driver.calls.map(({ method }) => method).sort()).toEqual([EXPAND, MODIFY])
    await fixture.clock.advance(5_000)
    expect(fixture.claim.status?.currentVolumeAttributesClassName).toBe('gold')
    await fixture.clock.advance(4_000)
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
    expect(conflicts()).toEqual([])
  })

  it('the resizer records a failed expansion and a failed modification separately', async () => {
    fixture.driver.expand = failing(CODES.Internal, 'no room')
    fixture.driver.modify = failing(CODES.Aborted, 'busy')
    await edit()
    expect(fixture.claim.status?.conditions?.map(({ type }) => type).sort()).toEqual([
      'ControllerResizeError',
      'ModifyVolumeError',
      'ModifyingVolume',
      'Resizing',
    ])
    expect(conflicts()).toEqual([])
  })

  it('the resizer finishes expansion and modification even if the cache receives no events', async () => {
    fixture.driver.expand = ({ request }) => {
      fixture.caches.claims.lagging = true
      return { capacityBytes: (request as { capacityRange: { requiredBytes: bigint } }).capacityRange.requiredBytes }
    }
    await edit()
    expect(fixture.claim.status).toMatchObject({
      capacity: { storage: '2Gi' },
      currentVolumeAttributesClassName: 'gold',
    })
    expect(conflicts()).toEqual([])
  })

  it('for 200 waiting claims, the expansion and the modification of one claim start within 100 ms', async () => {
    slowServer(5)
    const names = Array.from({ length: 200 }, (_, index) => `c${index}`)
    for (const name of names) {
      fixture.cluster.store(PERSISTENT_VOLUMES, volume({ name }))
      fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim({ name }))
    }
    // Every second claim requests a size and a class, so that the two queues contain different claims.
    for (const [index, name] of names.entries()) {
      const change = index % 2 === 0 ? EDIT : { spec: { resources: { requests: { storage: '2Gi' } } } }
      fixture.cluster.edit(PERSISTENT_VOLUME_CLAIMS, { ...CLAIM_REF, name }, change)
    }
    await fixture.clock.advance(10_000)
    const times = new Map<string, number[]>()
    for (const { request, at } of fixture.driver.calls) {
      const { volumeId } = request as { volumeId: string }
      times.set(volumeId, [...(times.get(volumeId) ?? []), at])
    }
    const gaps = [...times.values()].flatMap(([a, b]) => (a !== undefined && b !== undefined ? [Math.abs(a - b)] : []))
    expect(gaps).toHaveLength(100)
    expect(Math.max(...gaps)).toBeLessThan(100)
    expect(conflicts()).toEqual([])
  })
})
