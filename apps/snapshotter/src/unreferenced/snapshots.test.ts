import { FakeClock } from '@csi-sidecars/base/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { type Content, groupProjection, snapshotProjection } from '../caches/content.ts'
import { ContentMemory } from '../content/memory.ts'
import { DRIVER, preProvisioned, vgsc, vsc } from '../testing/objects.ts'
import { UnreferencedSnapshots } from './snapshots.ts'

const { signal } = new AbortController()
const STATUS = (snapshotHandle: string) => ({ status: { snapshotHandle, readyToUse: true } })

interface Listed {
  readonly id: string
  readonly volume?: string
  readonly group?: string
}

class Contents extends Map<string, Content> {
  synced = true
}

let contents: Contents
let groups: Contents
let memory: ContentMemory
let listed: readonly Listed[]
beforeEach(() => {
  contents = new Contents()
  groups = new Contents()
  memory = new ContentMemory(new FakeClock())
  listed = []
})

function storeContent(object: ReturnType<typeof vsc>): void {
  const content = snapshotProjection(DRIVER)(object)
  if (content !== undefined) contents.set(content.key, content)
}

function search(handleFilter = ''): UnreferencedSnapshots {
  return new UnreferencedSnapshots({
    contents: { store: contents },
    groupContents: { store: groups },
    memories: [memory],
    listPage: async () => ({
      entries: listed.map(({ id, volume = '', group = '' }) => ({
        snapshot: {
          snapshotId: id,
          sourceVolumeId: volume,
          groupSnapshotId: group,
          sizeBytes: 1024n,
          creationTime: undefined,
          readyToUse: true,
          accessibleTopology: [],
        },
      })),
      nextToken: '',
    }),
    handleFilter,
    clock: new FakeClock({ now: 0 }),
  })
}

async function afterTwo(found = search()): Promise<UnreferencedSnapshots> {
  await found.search(signal)
  await found.search(signal)
  return found
}

async function reported(found: UnreferencedSnapshots): Promise<readonly string[]> {
  const { items } = await found.read()
  return items.map(({ reason, handle, object }) => [reason, handle, object?.name ?? ''].join(' ').trim())
}

describe('snapshots that no object names', () => {
  it('a snapshot is named after two listings, until a content names it in its status or its spec', async () => {
    listed = [{ id: 'snap-1', volume: 'vol-1' }, { id: 'snap-given' }, { id: 'snap-2', volume: 'vol-2' }]
    storeContent(vsc('c', STATUS('snap-1')))
    storeContent(preProvisioned('g'))
    const found = await afterTwo()
    expect((await found.read()).items).toEqual([
      { reason: 'NoObject', handle: 'snap-2', sizeBytes: 1024, sourceVolume: 'vol-2', object: undefined, since: 0 },
    ])
    storeContent(vsc('d', STATUS('snap-2')))
    expect(await reported(found)).toEqual([])
  })

  it('a content without a handle keeps only the snapshots of its volume undecided', async () => {
    listed = [
      { id: 'snap-0', volume: 'vol-0' },
      { id: 'snap-1', volume: 'vol-1' },
      { id: 'snap-2', volume: 'vol-2' },
    ]
    storeContent(vsc('c'))
    storeContent(vsc('d', STATUS('snap-0')))
    const found = await afterTwo()
    expect(await reported(found)).toEqual(['NoObject snap-2'])
    expect((await found.read()).listing).toMatchObject({ undecidedCount: 1 })
  })

  it('a content that was lost during its creation keeps the snapshots of its volume undecided', async () => {
    listed = [{ id: 'snap-1', volume: 'vol-1' }]
    const content = snapshotProjection(DRIVER)(vsc('c'))
    if (content === undefined) throw new Error('no content')
    memory.beginCreation(content, { name: 'n', parameters: {}, secrets: {} })
    memory.recordLostContent(content, undefined, false)
    const found = await afterTwo()
    expect(await reported(found)).toEqual([])
    memory.forgetLost('c', () => true)
    expect(await reported(found)).toEqual(['NoObject snap-1'])
  })

  it('a group content holds its members, and members are undecided while group contents are not read', async () => {
    listed = [
      { id: 'm1', group: 'group-1' },
      { id: 'm2', group: 'group-2' },
    ]
    const status = { volumeGroupSnapshotHandle: 'group-1', readyToUse: true }
    const group = groupProjection(DRIVER)(vgsc('g', { status }))
    if (group !== undefined) groups.set('g', group)
    const found = await afterTwo()
    expect(await reported(found)).toEqual(['NoObject m2'])
    groups.synced = false
    expect(await reported(found)).toEqual([])
  })

  it('a content without a snapshot is named after two listings', async () => {
    listed = [{ id: 'snap-1', volume: 'vol-1' }]
    storeContent(vsc('c', STATUS('snap-1')))
    storeContent(vsc('d', STATUS('gone')))
    expect(await reported(await afterTwo())).toEqual(['NotListed gone d'])
  })

  it('names no snapshot if the listing shows none by the handle of its content', async () => {
    listed = [{ id: 'other', volume: 'vol-1' }]
    storeContent(vsc('c', STATUS('gone')))
    expect(await reported(await afterTwo())).toEqual(['NotListed gone c'])
  })

  it('a filter selects the snapshots of this cluster', async () => {
    listed = [{ id: 'a-1' }, { id: 'b-1' }]
    expect(await reported(await afterTwo(search('a-')))).toEqual(['NoObject a-1'])
  })

  it('names every planted snapshot, and never one that a content names or whose creation may run, in 1,000 histories', async () => {
    const step = fc.record({
      kind: fc.constantFrom('plant', 'begin', 'create', 'store', 'remove', 'list'),
      pick: fc.nat(9),
    })
    const history = async (steps: readonly { readonly kind: string; readonly pick: number }[]): Promise<void> => {
      contents.clear()
      const back = new Map<string, string>()
      const planted = new Set<string>()
      const owned = (): Set<string> => new Set([...contents.values()].flatMap(({ status }) => status?.handle ?? []))
      const found = search()
      const list = async (): Promise<void> => {
        listed = [...back].map(([id, volume]) => ({ id, volume }))
        await found.search(signal)
      }
      for (const [number, each] of steps.entries()) {
        const key = `c${each.pick}`
        const volume = `vol-${each.pick}`
        const content = contents.get(key)
        const isCreating = content !== undefined && content.status?.handle === undefined
        if (each.kind === 'plant') {
          back.set(`planted-${number}`, 'vol-planted')
          planted.add(`planted-${number}`)
        } else if (each.kind === 'begin' && content === undefined) {
          storeContent(vsc(key, { spec: { source: { volumeHandle: volume } } }))
        } else if (each.kind === 'create' && isCreating) back.set(`of-${content.key}`, volume)
        else if (each.kind === 'store' && isCreating && back.has(`of-${key}`)) {
          storeContent(vsc(key, { spec: { source: { volumeHandle: volume } }, ...STATUS(`of-${key}`) }))
        } else if (each.kind === 'remove' && content !== undefined && !isCreating) {
          contents.delete(key)
          back.delete(`of-${key}`)
        } else if (each.kind === 'list') await list()
        const named = (await found.read()).items.filter(({ reason }) => reason === 'NoObject')
        for (const { handle } of named) {
          expect(owned().has(handle)).toBe(false)
          const running = [...contents.values()].some((c) => c.status?.handle === undefined && `of-${c.key}` === handle)
          expect(running).toBe(false)
        }
      }
      await list()
      await list()
      if ([...owned()].length === 0 || [...owned()].some((handle) => back.has(handle))) {
        expect(await reported(found)).toEqual(
          expect.arrayContaining([...planted].map((handle) => `NoObject ${handle}`)),
        )
      }
    }
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 40 }), history), { numRuns: 1000 })
  })
})
