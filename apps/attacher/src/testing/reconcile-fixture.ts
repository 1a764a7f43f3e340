import { FakeClock } from '@csi-sidecars/base/testing'
import type { Cause, Outcome } from '@csi-sidecars/controller'
import { type RecordingRun, recordingRun } from '@csi-sidecars/controller/testing'
import type { ControllerPublishVolumeRequest, ControllerUnpublishVolumeRequest } from '@csi-sidecars/csi-proto'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { PersistentVolume, VolumeAttachment } from '@csi-sidecars/kube-types'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { type Attachment, attachmentProjection } from '../caches/attachment.ts'
import type { DriverNode } from '../caches/node.ts'
import { type Volume, volumeProjection } from '../caches/volume.ts'
import type { Published } from '../published-nodes/diff.ts'
import { AttachmentMemory } from '../volume-attachment/memory.ts'
import { reconcileAttachment } from '../volume-attachment/reconcile.ts'
import type { AttachmentDeps } from '../volume-attachment/run.ts'
import type { VolumeFinalizers } from '../volume-finalizers.ts'
import { FakeApi } from './fake-api.ts'
import { csi, DRIVER, FINALIZER, view } from './views.ts'

export const TIME = '2023-11-14T22:13:20Z'
export const FINALIZED = {
  finalizers: [FINALIZER],
  annotations: { 'csi.alpha.kubernetes.io/node-id': 'node1-id' },
}

export function va(
  change: { metadata?: object; status?: object } = {},
): VolumeAttachment & { metadata: { name: string } } {
  return {
    metadata: { name: 'va1', uid: 'va1-uid', ...change.metadata },
    spec: { attacher: DRIVER, nodeName: 'node1', source: { persistentVolumeName: 'pv1' } },
    status: { attached: false, ...change.status },
  }
}

export const deleting = (change: object = {}): ReturnType<typeof va> =>
  va({ metadata: { ...FINALIZED, deletionTimestamp: TIME, ...change }, status: { attached: true } })

export function pv(source: object = {}): PersistentVolume & { metadata: { name: string } } {
  return {
    metadata: { name: 'pv1', uid: 'pv1-uid', finalizers: [FINALIZER] },
    spec: { accessModes: ['ReadWriteOnce'], csi: csi(source) },
  }
}

export const project = attachmentProjection(DRIVER)
export const projectVolume = volumeProjection(DRIVER)

/** Attachment `va1` of volume `pv1` at an API server, a driver, and runs of the attachment's key. */
export class ReconcileFixture {
  readonly api = new FakeApi()
  /** `publish handle-1 node1-id {secrets}` in the order in which they came. */
  readonly calls: string[] = []
  publish: (request: ControllerPublishVolumeRequest) => Promise<Record<string, string>> = async () => ({})
  unpublish: (request: ControllerUnpublishVolumeRequest) => Promise<void> = async () => {}
  lost = false
  listsPublishedNodes = false
  readonly clock = new FakeClock()
  readonly memory = new AttachmentMemory({ baseMs: 1_000, maxMs: 60_000, clock: this.clock })
  /** What the driver lists; each question is a call `list`. */
  listed: () => Published = () => new Map()
  readonly nodes: DriverNode[] = []
  /** What the cache holds instead of what the server does. */
  readonly late = new Map<string, VolumeAttachment | undefined>()
  /** What the write of our finalizer to the volume returns. */
  held: () => Volume | undefined = () => projectVolume(pv())
  readonly woken: Cause[] = []
  readonly enqueued: string[] = []
  readonly log = recordingLogger()
  readonly signal = new AbortController()
  /** The last run. */
  own: RecordingRun = recordingRun(this.signal.signal)

  constructor() {
    this.api.put(va())
    this.api.put(pv())
  }

  run(change: Partial<AttachmentDeps> = {}, key = 'va1'): Promise<Outcome> {
    this.own = recordingRun(this.signal.signal)
    return reconcileAttachment(key, { ...this.#deps(), ...change }, this.own)
  }

  #deps(): AttachmentDeps {
    const { api, calls, enqueued, late, log, memory, woken } = this
    const isLost = (): boolean => this.lost
    return {
      // The controller reads and patches, nothing else.
      api: api.client as KubeClient,
      driver: {
        publish: (request) => {
          calls.push(`publish ${request.volumeId} ${request.nodeId} ${JSON.stringify(request.secrets)}`)
          return this.publish(request)
        },
        unpublish: (request) => {
          calls.push(`unpublish ${request.volumeId} ${request.nodeId} ${JSON.stringify(request.secrets)}`)
          return this.unpublish(request)
        },
        get lost() {
          return isLost()
        },
      },
      attachments: {
        learn: (object) => project(object),
        store: {
          get: (name: string) => this.#stored(name),
          values: () =>
            [...new Set([...api.objects.keys(), ...late.keys()])].flatMap((name) => this.#stored(name) ?? []),
        } as never,
      },
      listPublished: async () => {
        calls.push('list')
        return this.listed()
      },
      volumes: { get: () => this.#storedVolume() },
      nodes: { values: () => this.nodes.values() },
      finalizers: {
        add: async (name: string) => {
          api.requests.push(`hold ${name}`)
          return this.held()
        },
      } as unknown as VolumeFinalizers,
      finalizer: FINALIZER,
      memory,
      observe: async (name) => {
        const found = this.#stored(name)
        return (
          found &&
          view({
            va: found,
            volume: { from: 'pv', name: 'pv1', pv: this.#storedVolume() },
            forced: memory.isForced(found),
            confirmed: memory.listing(name) === 'same',
            stripped: memory.finalizers.has(found),
            capabilities: { ...view().capabilities, listsPublishedNodes: this.listsPublishedNodes },
            formerNodeId: memory.formerNode(found) ?? found.nodeId,
            statusPending: memory.statusPending(name),
            published: [...memory.published.ofAttachment(found.uid)],
          })
        )
      },
      placementUnchanged: () => true,
      wake: (cause) => woken.push(cause),
      enqueue: (each) => enqueued.push(each),
      recordErrorCode: true,
      clock: this.clock,
      log,
    }
  }

  /** What the cache holds: as the server does, but for what a test has made it see late. */
  #stored(key: string): Attachment | undefined {
    const { api, late } = this
    const object = (late.has(key) ? late.get(key) : api.get(key)) as VolumeAttachment | undefined
    return object?.spec && project(object)
  }

  #storedVolume(): Volume | undefined {
    const found = this.api.get('pv1') as PersistentVolume | undefined
    return found && projectVolume(found)
  }
}
