import { FakeClock } from '@csi-sidecars/base/testing'
import type { ListVolumesResponse } from '@csi-sidecars/csi-proto'
import type { PersistentVolume } from '@csi-sidecars/kube-types'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { claimProjection, type ProvisionerClaim } from '../caches/claim.ts'
import type { DriverNames } from '../caches/names.ts'
import { type ProvisionerVolume, volumeProjection } from '../caches/volume.ts'
import { ClaimMemory } from '../claims/memory.ts'
import { MAX_SIGHTINGS, MIN_RELEASED_MS, UnreferencedVolumes, type UnreferencedVolumesOptions } from './volumes.ts'

const DRIVER = 'csi.example.com'
const FINALIZER = 'external-provisioner/csi-example-com'
const NOW = Date.UTC(2026, 0, 1)
const { signal } = new AbortController()

let clock: FakeClock
let memory: ClaimMemory
let names: DriverNames
let volumes: Map<string, ProvisionerVolume>
let claims: Map<string, ProvisionerClaim>
/** The handles that the back end lists. Each entry of the outer list is one page. */
let pages: readonly (readonly string[])[]
let handleFilter: string
beforeEach(() => {
  clock = new FakeClock({ now: NOW })
  memory = new ClaimMemory(clock, 0)
  names = { driver: DRIVER, inTree: undefined }
  volumes = new Map()
  claims = new Map()
  pages = [[]]
  handleFilter = ''
})

function putVolume(name: string, handle: string, change: Partial<PersistentVolume> = {}): void {
  const spec = { csi: { driver: DRIVER, volumeHandle: handle } }
  const pv = { metadata: { name, uid: `uid-${name}` }, spec, status: { phase: 'Bound' }, ...change }
  volumes.set(name, volumeProjection(names, undefined)(pv as PersistentVolume))
}

function putClaim(uid: string, finalizers: readonly string[] = []): void {
  const annotations = { 'volume.kubernetes.io/storage-provisioner': DRIVER }
  const metadata = { namespace: 'ns', name: uid, uid, annotations, finalizers: [...finalizers] }
  claims.set(`ns/${uid}`, claimProjection(FINALIZER)({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata }))
}

function entry(
  volumeId: string,
  capacityBytes = 1024n,
  nodes: readonly string[] = [],
): ListVolumesResponse['entries'][number] {
  const volume = { volumeId, capacityBytes, volumeContext: {}, contentSource: undefined, accessibleTopology: [] }
  return { volume, status: { publishedNodeIds: [...nodes] } }
}

function search(change: Partial<UnreferencedVolumesOptions> = {}): UnreferencedVolumes {
  return new UnreferencedVolumes({
    volumes: { store: volumes },
    claims: { store: claims },
    memory,
    settings: { names, claimFinalizer: FINALIZER, finalizeClaims: false, node: undefined },
    listPage: async (token) => {
      const page = Number(token || '0')
      const nextToken = page + 1 < pages.length ? String(page + 1) : ''
      return { entries: (pages[page] ?? []).map((handle) => entry(handle)), nextToken }
    },
    handleFilter,
    clock,
    ...change,
  })
}

async function afterTwo(found = search()): Promise<UnreferencedVolumes> {
  await found.search(signal)
  clock.setWall(clock.now() + 3_600_000)
  await found.search(signal)
  return found
}

async function reported(found: UnreferencedVolumes): Promise<readonly string[]> {
  return (await found.read()).items.map(({ reason, handle, object }) =>
    [reason, handle, object?.name ?? ''].join(' ').trim(),
  )
}

describe('volumes that no object names', () => {
  it('a volume is named after two listings, with its size and the time of the first', async () => {
    pages = [['vol-1'], ['vol-2']]
    putVolume('pv-1', 'vol-1')
    const found = search()
    await found.search(signal)
    expect(await reported(found)).toEqual([])
    await afterTwo(found)
    const { items, listing } = await found.read()
    expect(items).toEqual([
      { reason: 'NoObject', handle: 'vol-2', object: undefined, sizeBytes: 1024, publishedNodes: 0, since: NOW },
    ])
    expect(listing).toEqual({
      listedAt: NOW + 3_600_000,
      listedCount: 2,
      isLimitedToCluster: false,
      undecidedCount: 0,
      undecidedReason: undefined,
      omittedCount: 0,
      failure: undefined,
    })
  })

  it('a volume disappears from the report as soon as a PersistentVolume names it, without another listing', async () => {
    pages = [['vol-1']]
    const found = await afterTwo()
    expect(await reported(found)).toEqual(['NoObject vol-1'])
    putVolume('pv-1', 'vol-1')
    expect(await reported(found)).toEqual([])
  })

  it('the case of a handle does not matter', async () => {
    pages = [['/subscriptions/x/resourceGroups/RG/disks/d1', 'other']]
    putVolume('pv-1', '/subscriptions/x/resourcegroups/rg/disks/d1')
    expect(await reported(await afterTwo())).toEqual(['NoObject other'])
  })

  it('a volume that this process is about to store is not named', async () => {
    pages = [['vol-1']]
    const found = await afterTwo()
    putClaim('u1')
    const claim = claims.get('ns/u1')
    const created = { volumeId: 'vol-1', secretRef: undefined, secrets: {}, migrated: false }
    if (claim === undefined) throw new Error('no claim')
    memory.unsavedVolumes.set('pvc-u1', { claim, pv: {} as PersistentVolume, created, mustDelete: false })
    expect(await reported(found)).toEqual([])
  })

  it('the inline volumes of pods are not named', async () => {
    pages = [[`csi-${'0123456789abcdef'.repeat(4)}`, 'csi-short']]
    expect(await reported(await afterTwo())).toEqual(['NoObject csi-short'])
  })

  it('a filter selects the volumes of this cluster', async () => {
    handleFilter = 'cluster-a'
    pages = [['cluster-a-1', 'cluster-b-1']]
    const found = await afterTwo()
    expect(await reported(found)).toEqual(['NoObject cluster-a-1'])
    expect((await found.read()).listing.isLimitedToCluster).toBe(true)
  })

  it('at most a fixed number of volumes is remembered, and the others are counted', async () => {
    pages = [Array.from({ length: MAX_SIGHTINGS + 5 }, (_, number) => `vol-${number}`)]
    const { items, listing } = await (await afterTwo()).read()
    expect([items.length, listing.omittedCount]).toEqual([MAX_SIGHTINGS, 5])
  })
})

describe('running creations', () => {
  it('a claim that waited before the volume was seen keeps it undecided until the first run of the claim', async () => {
    pages = [['vol-1']]
    putClaim('u1')
    const found = await afterTwo()
    expect(await reported(found)).toEqual([])
    expect((await found.read()).listing).toMatchObject({
      undecidedCount: 1,
      undecidedReason: 'a CreateVolume call that may be running may have created them',
    })
    memory.recordRun('u1')
    expect(await reported(found)).toEqual(['NoObject vol-1'])
  })

  it('a claim with our finalizer keeps volumes undecided, because an earlier process may have called', async () => {
    pages = [['vol-1']]
    putClaim('u1', [FINALIZER])
    memory.recordRun('u1')
    const found = await afterTwo()
    expect(await reported(found)).toEqual([])
    claims.clear()
    expect(await reported(found)).toEqual(['NoObject vol-1'])
  })

  it('a claim that is created after the listing cannot own a volume of the listing', async () => {
    pages = [['vol-1']]
    const found = await afterTwo()
    putClaim('u1', [FINALIZER])
    expect(await reported(found)).toEqual(['NoObject vol-1'])
  })

  it('a claim of another node keeps volumes undecided with `--node-deployment`', async () => {
    pages = [['vol-1']]
    putClaim('u1')
    memory.recordRun('u1')
    const node = {
      name: 'node-1',
      segments: undefined,
      immediateBinding: true,
      baseDelayMs: 0,
      maxDelayMs: 0,
      rescheduleAfterMs: 0,
    }
    const settings = { names, claimFinalizer: FINALIZER, finalizeClaims: false, node }
    expect(await reported(await afterTwo(search({ settings })))).toEqual([])
  })
})

describe('doubtful listings', () => {
  it('names no volume if the listing shows no volume by the handle of its PersistentVolume', async () => {
    pages = [['vol-1', 'vol-2']]
    putVolume('pv-1', 'aws://zone/vol-9')
    const found = await afterTwo()
    expect(await reported(found)).toEqual(['NotListed aws://zone/vol-9 pv-1'])
    expect((await found.read()).listing).toMatchObject({ undecidedCount: 2 })
  })

  it('a handle with another beginning holds the volume', async () => {
    pages = [['vol-1', 'vol-2', 'vol-3']]
    putVolume('pv-1', 'aws://zone/vol-1')
    putVolume('pv-2', 'vol-2')
    expect(await reported(await afterTwo())).toEqual(['NoObject vol-3', 'NotListed aws://zone/vol-1 pv-1'])
  })

  it('an in-tree PersistentVolume holds its volume, and names none if its volume is not listed', async () => {
    names = { driver: 'pd.csi.storage.gke.io', inTree: 'kubernetes.io/gce-pd' }
    pages = [['projects/p/zones/z/disks/d1', 'projects/p/zones/z/disks/d2']]
    const inTree = (pdName: string): Partial<PersistentVolume> => ({ spec: { gcePersistentDisk: { pdName } } })
    putVolume('pv-1', '', inTree('d1'))
    const found = await afterTwo()
    expect(await reported(found)).toEqual(['NoObject projects/p/zones/z/disks/d2'])
    putVolume('pv-2', '', inTree('elsewhere'))
    await found.search(signal)
    expect(await reported(found)).toEqual([])
    expect((await found.read()).listing.undecidedReason).toMatch(/1 in-tree PersistentVolumes/)
  })

  it('a listing that fails keeps the earlier result and reports the error', async () => {
    pages = [['vol-1']]
    let fails = false
    const listPage: UnreferencedVolumesOptions['listPage'] = async () => {
      if (fails) throw new Error('no')
      return { entries: [entry('vol-1')], nextToken: '' }
    }
    const found = await afterTwo(search({ listPage }))
    fails = true
    await expect(found.search(signal)).rejects.toThrow('failed to ListVolumes: failed to list volumes: no')
    expect(await reported(found)).toEqual(['NoObject vol-1'])
    expect((await found.read()).listing.failure).toBe('failed to ListVolumes: failed to list volumes: no')
  })
})

describe('PersistentVolumes', () => {
  it('a PersistentVolume without a volume is named after two listings, unless it is being deleted', async () => {
    pages = [['vol-1']]
    putVolume('pv-1', 'vol-1')
    putVolume('pv-2', 'gone')
    const found = await afterTwo()
    expect(await reported(found)).toEqual(['NotListed gone pv-2'])
    putVolume('pv-2', 'gone', {
      metadata: { name: 'pv-2', uid: 'uid-pv-2', deletionTimestamp: '2026-01-01T00:00:00Z' },
    })
    expect(await reported(found)).toEqual([])
  })

  it('a Released PersistentVolume is named after a day, also if the driver cannot list', async () => {
    const spec = {
      capacity: { storage: '2Ki' },
      csi: { driver: DRIVER, volumeHandle: 'vol-1' },
      persistentVolumeReclaimPolicy: 'Retain',
    }
    const status = { phase: 'Released', lastPhaseTransitionTime: '2026-01-01T00:00:00Z' }
    putVolume('pv-1', 'vol-1', { spec, status })
    const found = search({ listPage: undefined })
    await found.search(signal)
    expect(await reported(found)).toEqual([])
    clock.setWall(clock.now() + MIN_RELEASED_MS)
    expect((await found.read()).items).toEqual([
      {
        reason: 'Released',
        handle: 'vol-1',
        object: { kind: 'PersistentVolume', name: 'pv-1' },
        sizeBytes: 2048,
        since: NOW,
      },
    ])
  })

  it('without a time in its status, the day begins when this process sees the Released PersistentVolume', async () => {
    putVolume('pv-1', 'vol-1', { status: { phase: 'Released' } })
    const found = search({ listPage: undefined })
    await found.search(signal)
    clock.setWall(clock.now() + MIN_RELEASED_MS - 1)
    expect(await reported(found)).toEqual([])
    clock.setWall(clock.now() + 1)
    expect(await reported(found)).toEqual(['Released vol-1 pv-1'])
  })
})
