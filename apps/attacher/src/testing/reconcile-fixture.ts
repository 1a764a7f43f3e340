import { FakeClock } from '@csi-sidecars/base/testing'
import type { Outcome, WakeEvent } from '@csi-sidecars/controller'
import { type RecordingRun, recordingRun } from '@csi-sidecars/controller/testing'
import type { ControllerPublishVolumeRequest, ControllerUnpublishVolumeRequest } from '@csi-sidecars/csi-proto'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { PersistentVolume, VolumeAttachment } from '@csi-sidecars/kube-types'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { attachmentProjection, type CachedAttachment } from '../caches/attachment.ts'
import { type CachedVolume, volumeProjection } from '../caches/volume.ts'
import { AttachmentMemory } from '../volume-attachment/memory.ts'
import { reconcileAttachment } from '../volume-attachment/reconcile.ts'
import type { AttachmentDeps } from '../volume-attachment/run.ts'
import type { VolumeFinalizers } from '../volumes/volume-finalizers.ts'
import { ObjectApi } from './fake-api.ts'
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

/** Reconciles attachment `va1` of volume `pv1`, with a fake API server and a fake driver. */
export class ReconcileFixture {
  readonly api = new ObjectApi()
  /** The calls in their order, as `publish handle-1 node1-id {secrets}`. */
  readonly calls: string[] = []
  publish: (request: ControllerPublishVolumeRequest) => Promise<Record<string, string>> = async () => ({})
  unpublish: (request: ControllerUnpublishVolumeRequest) => Promise<void> = async () => {}
  lost = false
  readonly clock = new FakeClock()
  readonly memory = new AttachmentMemory()
  /** The cached attachments that differ from the attachments in the API server. */
  readonly late = new Map<string, VolumeAttachment | undefined>()
  /** Returns the volume after our finalizer was written to it. */
  volumeAfterWrite: () => CachedVolume | undefined = () => projectVolume(pv())
  readonly woken: WakeEvent[] = []
  readonly enqueued: string[] = []
  readonly log = recordingLogger()
  readonly signal = new AbortController()
  lastRun: RecordingRun = recordingRun(this.signal.signal)

  constructor() {
    this.api.store(va())
    this.api.store(pv())
  }

  run(change: Partial<AttachmentDeps> = {}, key = 'va1'): Promise<Outcome> {
    this.lastRun = recordingRun(this.signal.signal)
    return reconcileAttachment(key, { ...this.#deps(), ...change }, this.lastRun)
  }

  #deps(): AttachmentDeps {
    const { api, calls, enqueued, late, log, memory, woken } = this
    const isLost = (): boolean => this.lost
    return {
      // The controller only reads and patches, so the fake client has no other methods.
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
        storeAnswer: (object) => project(object),
        store: {
          get: (name: string) => this.#stored(name),
          values: () =>
            [...new Set([...api.objects.keys(), ...late.keys()])].flatMap((name) => this.#stored(name) ?? []),
        } as never,
      },
      volumes: { get: () => this.#storedVolume() },
      finalizers: {
        add: async (name: string) => {
          api.requests.push(`hold ${name}`)
          return this.volumeAfterWrite()
        },
      } as unknown as VolumeFinalizers,
      finalizer: FINALIZER,
      memory,
      observe: async (name) => {
        const found = this.#stored(name)
        if (found === undefined) return undefined
        const { listing, finalizerRemoved, ...record } = memory.recordOf(found)
        return view({
          va: found,
          volume: { kind: 'pv', name: 'pv1', pv: this.#storedVolume() },
          listingDiffers: listing === 'different',
          listingAgrees: listing === 'same',
          finalizerRemoved: finalizerRemoved !== undefined,
          mustWriteStatus: record.mustWriteStatus,
          publications: record.publications,
        })
      },
      placementUnchanged: () => true,
      wake: (event) => woken.push(event),
      enqueue: (each) => enqueued.push(each),
      recordErrorCode: true,
      clock: this.clock,
      log,
    }
  }

  /** Returns the cached attachment: the attachment in the API server, unless a test has set another state. */
  #stored(key: string): CachedAttachment | undefined {
    const { api, late } = this
    const object = (late.has(key) ? late.get(key) : api.get(key)) as VolumeAttachment | undefined
    return object?.spec && project(object)
  }

  #storedVolume(): CachedVolume | undefined {
    const found = this.api.get('pv1') as PersistentVolume | undefined
    return found && projectVolume(found)
  }
}
