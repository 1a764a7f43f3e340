import { FakeClock } from '@csi-sidecars/base/testing'
import { ApiError, apiErrorOf } from '@csi-sidecars/kube-client'
import {
  CSI_NODES,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  STORAGE_CLASSES,
} from '@csi-sidecars/kube-types'
import { csiNode, DRIVER, FakeApi, pvc, storageClass } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { SELECTED_NODE, STORAGE_PROVISIONER } from '../src/caches/names.ts'
import { Process } from '../src/testing/model/process.ts'
import { ModelStorage } from '../src/testing/model/storage.ts'

const CLAIM = { namespace: 'default', name: 'data' }
const NAMES = ['node-1', 'node-2', 'node-3'] as const
const MINUTE_MS = 60_000

type Name = (typeof NAMES)[number]
type Step =
  | { readonly kind: 'answer' | 'apply' | 'lose'; readonly name: Name; readonly pick: number }
  | { readonly kind: 'deliver' | 'restart' | 'register' | 'unregister'; readonly name: Name }
  | { readonly kind: 'schedule'; readonly name: Name }
  | { readonly kind: 'pass'; readonly ms: number }

const name = fc.constantFrom(...NAMES)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constantFrom('answer', 'apply', 'lose'), name, pick: fc.nat(3) }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('answer'), name, pick: fc.constant(0) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('deliver'), name }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('register', 'unregister'), name }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('restart'), name }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('schedule'), name }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('pass'), ms: fc.constantFrom(2_000, MINUTE_MS, 6 * MINUTE_MS) }),
  },
)

/**
 * Three nodes with a storage each, and one claim. Its selected node has neither the driver nor a process at first: both
 * may start at any moment.
 */
class Nodes {
  readonly clock = new FakeClock()
  readonly api = new FakeApi<ApiError>({ clock: this.clock, errorOf: apiErrorOf })
  readonly storages = new Map<Name, ModelStorage>()
  readonly processes = new Map<Name, Process>()
  reschedules = 0

  constructor() {
    this.api.store(STORAGE_CLASSES, storageClass('sc-1', { volumeBindingMode: 'WaitForFirstConsumer' }))
    const annotations = { [STORAGE_PROVISIONER]: DRIVER, [SELECTED_NODE]: 'node-2' }
    this.api.store(PERSISTENT_VOLUME_CLAIMS, pvc('data', { metadata: { uid: 'uid-data', annotations } }))
    for (const each of NAMES) {
      this.api.store(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: each } })
      this.register(each, each !== 'node-2')
      this.storages.set(each, new ModelStorage())
      if (each !== 'node-2') this.start(each)
    }
  }

  register(nodeName: Name, isRegistered: boolean): void {
    this.api.store(CSI_NODES, csiNode(nodeName, isRegistered ? {} : { spec: { drivers: null } }))
  }

  start(nodeName: Name): Process {
    this.processes.get(nodeName)?.kill()
    const delays = { baseDelayMs: 0, maxDelayMs: 0, rescheduleAfterMs: MINUTE_MS }
    const node = { name: nodeName, segments: { host: nodeName }, immediateBinding: true, ...delays }
    const process = new Process({
      api: this.api,
      clock: this.clock,
      storage: this.storages.get(nodeName) ?? new ModelStorage(),
      settings: { node, finalizeClaims: true },
      onCreate: () => {},
      onDelete: () => {},
    })
    this.processes.set(nodeName, process)
    return process
  }

  /** Selects the node if none is selected, as the scheduler does. */
  schedule(nodeName: Name): void {
    const { annotations } = this.api.server.get(PERSISTENT_VOLUME_CLAIMS, CLAIM)?.metadata ?? {}
    if (annotations?.[SELECTED_NODE]) return
    this.reschedules += 1
    this.api.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM, { metadata: { annotations: { [SELECTED_NODE]: nodeName } } })
  }

  async perform(each: Step): Promise<void> {
    switch (each.kind) {
      case 'pass':
        return await this.clock.advance(each.ms)
      case 'restart':
        return void this.start(each.name)
      case 'register':
      case 'unregister':
        return this.register(each.name, each.kind === 'register')
      case 'schedule':
        return this.schedule(each.name)
      case 'deliver':
        return this.processes.get(each.name)?.deliver()
      default: {
        const { inFlight = [] } = this.processes.get(each.name)?.gate ?? {}
        const flight = inFlight[each.pick % Math.max(1, inFlight.length)]
        if (each.kind === 'answer') return flight?.answer()
        flight?.apply()
        if (each.kind === 'lose' && flight?.request?.verb === 'replace') {
          flight.answer(new ApiError({ code: 0, reason: '', message: 'no answer', outcomeUnknown: true }))
        }
      }
    }
  }

  /** Reports whether the CSINode of the node names the driver. */
  hasDriver(nodeName: Name): boolean {
    const { spec } = this.api.server.get(CSI_NODES, { name: nodeName }) ?? {}
    return spec?.drivers?.some((each) => each.name === DRIVER) === true
  }

  /** Ends all faults, and lets the time pass until the claim has its volume. */
  async finish(): Promise<void> {
    // A node with the driver has a process in the end.
    for (const each of NAMES) if (this.hasDriver(each) && !this.processes.has(each)) this.start(each)
    for (const process of this.processes.values()) {
      process.gate.open()
      process.deliverAtOnce()
      process.deliver()
    }
    for (let left = 10; left > 0; left -= 1) {
      await this.clock.advance(20 * MINUTE_MS)
      this.schedule('node-3')
    }
  }
}

describe('the processes of three nodes', () => {
  it('create exactly one volume for a claim, whichever of them takes the node from the claim and when', async () => {
    let reschedules = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
        const nodes = new Nodes()
        for (const each of steps) {
          await nodes.perform(each)
          await nodes.clock.settle()
        }
        await nodes.finish()
        const volumes = [...nodes.storages].flatMap(([at, { volumes }]) => [...volumes].map(() => at))
        const names = nodes.api.server.list(PERSISTENT_VOLUMES).map(({ metadata }) => metadata?.name)
        for (const process of nodes.processes.values()) process.kill()
        reschedules += nodes.reschedules
        expect(names).toEqual(['pvc-uid-data'])
        expect(volumes).toHaveLength(1)
      }),
      { numRuns: 60 },
    )
    expect(reschedules).toBeGreaterThan(0)
  })
})
