import { FakeClock } from '@csi-sidecars/base/testing'
import { ApiError, apiErrorOf } from '@csi-sidecars/kube-client'
import {
  CSI_NODES,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  STORAGE_CLASSES,
} from '@csi-sidecars/kube-types'
import { csiNode, DRIVER, FakeApi, pv, pvc, storageClass } from '@csi-sidecars/testkit'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { SELECTED_NODE, STORAGE_PROVISIONER } from '../src/caches/names.ts'
import type { ProvisionerSettings } from '../src/parts.ts'
import { CLAIM_FINALIZER, Process } from '../src/testing/model/process.ts'
import { ModelStorage } from '../src/testing/model/storage.ts'

const CLAIM = { namespace: 'default', name: 'data' }
const AFTER_MS = 5 * 60_000
const HOUR_MS = 60 * 60_000

let clock: FakeClock
let api: FakeApi<ApiError>
let creations: number

beforeEach(() => {
  clock = new FakeClock()
  api = new FakeApi({ clock, errorOf: apiErrorOf })
  creations = 0
  api.store(STORAGE_CLASSES, storageClass('sc-1', { volumeBindingMode: 'WaitForFirstConsumer' }))
  api.store(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-2' } })
  api.store(CSI_NODES, csiNode('node-2', { spec: { drivers: [{ name: 'other', nodeID: 'b', topologyKeys: [] }] } }))
  const annotations = { [STORAGE_PROVISIONER]: DRIVER, [SELECTED_NODE]: 'node-2' }
  api.store(PERSISTENT_VOLUME_CLAIMS, pvc('data', { metadata: { uid: 'uid-data', annotations } }))
})

/** Starts the process of a node. */
function begin(name: string, settings: Partial<ProvisionerSettings> = {}): Process {
  const node = {
    name,
    segments: undefined,
    immediateBinding: true,
    baseDelayMs: 0,
    maxDelayMs: 0,
    rescheduleAfterMs: AFTER_MS,
  }
  const onCreate = (): void => {
    creations += 1
  }
  const options = { api, clock, storage: new ModelStorage(), onCreate, onDelete: () => {} }
  const process = new Process({ ...options, settings: { node, finalizeClaims: true, ...settings } })
  process.gate.open()
  process.deliverAtOnce()
  return process
}

/** Calls the function before each request of the process for which `is` returns true. */
function before(process: Process, is: (label: string) => boolean, act: () => void | Promise<void>): void {
  const pass = process.gate.pass.bind(process.gate)
  process.gate.pass = async (outgoing, effect, passing) => {
    if (is(outgoing.label)) await act()
    return await pass(outgoing, effect, passing)
  }
}

const selected = (): string | undefined =>
  api.server.get(PERSISTENT_VOLUME_CLAIMS, CLAIM)?.metadata?.annotations?.[SELECTED_NODE]
const select = (node: string | null): void =>
  api.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM, { metadata: { annotations: { [SELECTED_NODE]: node } } })

describe('a claim whose selected node has no driver', () => {
  it('loses the node after the time of the flag, with an event', async () => {
    const { events } = begin('node-1')
    await clock.advance(AFTER_MS - 1)
    expect(selected()).toBe('node-2')
    await clock.advance(AFTER_MS + 1_000)
    expect(selected()).toBeUndefined()
    expect(events).toEqual([
      `NodeWithoutDriver: The selected node "node-2" has no driver "${DRIVER}", so the claim waits for another node`,
    ])
    expect(creations).toBe(0)
  })

  it('loses the node by one write and with one event, though two processes check the node at the same moment', async () => {
    const both = Promise.withResolvers<void>()
    let writers = 0
    const processes = ['node-1', 'node-3'].map((name) => begin(name))
    for (const process of processes) {
      before(
        process,
        (label) => /^replace .*persistentvolumeclaims/.test(label),
        () => {
          writers += 1
          if (writers === 2) both.resolve()
          return both.promise
        },
      )
    }
    await clock.advance(2 * AFTER_MS + 1_000)
    expect(writers).toBe(2)
    expect(selected()).toBeUndefined()
    expect(processes.flatMap(({ events }) => events)).toHaveLength(1)
  })

  it('loses the same node again only after the whole time', async () => {
    begin('node-1')
    await clock.advance(2 * AFTER_MS + 1_000)
    select('node-2')
    await clock.advance(AFTER_MS - 1)
    expect(selected()).toBe('node-2')
    await clock.advance(AFTER_MS + 1_000)
    expect(selected()).toBeUndefined()
  })

  it('loses a node that is gone', async () => {
    api.delete(NODES, { name: 'node-2' })
    api.delete(CSI_NODES, { name: 'node-2' })
    const { events } = begin('node-1')
    await clock.advance(2 * AFTER_MS + 1_000)
    expect(selected()).toBeUndefined()
    expect(events).toEqual([
      'NodeWithoutDriver: The selected node "node-2" is gone, so the claim waits for another node',
    ])
  })

  it('loses a node whose CSINode has no drivers at all', async () => {
    api.store(CSI_NODES, csiNode('node-2', { spec: { drivers: null } }))
    begin('node-1')
    await clock.advance(2 * AFTER_MS + 1_000)
    expect(selected()).toBeUndefined()
  })
})

describe('a claim of another node', () => {
  const finalizers = [CLAIM_FINALIZER]
  const annotations = { [STORAGE_PROVISIONER]: DRIVER, [SELECTED_NODE]: 'node-2' }

  it.each<[string, () => void]>([
    ['has the driver', () => api.store(CSI_NODES, csiNode('node-2'))],
    ['has no CSINode yet', () => api.delete(CSI_NODES, { name: 'node-2' })],
    [
      'may be creating the volume',
      () =>
        api.store(PERSISTENT_VOLUME_CLAIMS, pvc('data', { metadata: { uid: 'uid-data', annotations, finalizers } })),
    ],
  ])('keeps the node that %s', async (_, prepare) => {
    prepare()
    const { events } = begin('node-1')
    await clock.advance(HOUR_MS)
    expect(selected()).toBe('node-2')
    expect(events).toEqual([])
  })

  it('keeps the node that registers the driver during the wait', async () => {
    begin('node-1')
    await clock.advance(AFTER_MS - 1_000)
    api.store(CSI_NODES, csiNode('node-2'))
    await clock.advance(HOUR_MS)
    expect(selected()).toBe('node-2')
  })

  it('keeps the node without --finalize-claims, because a creation may have begun there', async () => {
    begin('node-1', { finalizeClaims: false })
    await clock.advance(HOUR_MS)
    expect(selected()).toBe('node-2')
  })

  it('keeps the node if the finalizer comes between the check and the write', async () => {
    const process = begin('node-1')
    let writes = 0
    before(
      process,
      (label) => /^replace .*persistentvolumeclaims/.test(label),
      () => {
        writes += 1
        if (writes === 1) api.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM, { metadata: { finalizers } })
      },
    )
    await clock.advance(HOUR_MS)
    expect(writes).toBe(1)
    expect(selected()).toBe('node-2')
    expect(process.events).toEqual([])
  })

  it('keeps the node that has created the PersistentVolume, though the cache does not show it yet', async () => {
    const process = begin('node-1')
    before(
      process,
      (label) => label.startsWith('get csinodes'),
      () => void api.store(PERSISTENT_VOLUMES, pv('pvc-uid-data', { spec: { claimRef: { uid: 'uid-data' } } })),
    )
    await clock.advance(HOUR_MS)
    expect(selected()).toBe('node-2')
    expect(process.events).toEqual([])
  })

  it.each(['get csinodes', 'get nodes'])('keeps the node if "%s" is forbidden', async (label) => {
    const process = begin('node-1')
    before(
      process,
      (each) => each.startsWith(label),
      () => Promise.reject(new ApiError({ code: 403, reason: 'Forbidden', message: 'no' })),
    )
    await clock.advance(HOUR_MS)
    expect(selected()).toBe('node-2')
    expect(process.events).toEqual([])
  })

  it('is checked once in 15 minutes if the node has the driver', async () => {
    api.store(CSI_NODES, csiNode('node-2'))
    let checks = 0
    before(
      begin('node-1'),
      (label) => label.startsWith('get csinodes'),
      () => {
        checks += 1
      },
    )
    await clock.advance(HOUR_MS)
    expect(checks).toBeGreaterThan(1)
    expect(checks).toBeLessThanOrEqual(4)
  })
})

it('a claim that loses its node before the finalizer is written is not created on that node', async () => {
  let isFirst = true
  const process = begin('node-2')
  before(
    process,
    (label) => /^get .*persistentvolumeclaims/.test(label),
    () => {
      if (isFirst) select(null)
      isFirst = false
    },
  )
  await clock.advance(10_000)
  expect(isFirst).toBe(false)
  expect(creations).toBe(0)
  expect(api.server.get(PERSISTENT_VOLUME_CLAIMS, CLAIM)?.metadata?.finalizers).toBeUndefined()
  select('node-2')
  await clock.advance(10_000)
  expect(creations).toBe(1)
})
