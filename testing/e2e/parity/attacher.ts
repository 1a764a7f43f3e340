import {
  addFinalizerPatch,
  PERSISTENT_VOLUMES,
  removeFinalizerPatch,
  VOLUME_ATTACHMENTS,
  type VolumeAttachment,
} from '@csi-sidecars/kube-types'
import { type Api, ApiFailure } from '../harness/api/api.ts'
import { pause } from '../harness/waiting.ts'

const FINALIZER = 'external-attacher/parity'
const PERIOD_MS = 100

/**
 * A minimal external-attacher for both sides. Texts in a volume's handle select the result:
 * `refused` fails, `slow` never ends; `stuck` is attached and never detached.
 */
export async function playAttacher(api: Api, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (const attachment of await api.list(VOLUME_ATTACHMENTS)) await serve(attachment, api)
    await pause(PERIOD_MS)
  }
}

async function serve({ metadata, spec, status }: VolumeAttachment, api: Api): Promise<void> {
  const name = metadata?.name ?? ''
  const ref = { name }
  const handle = await handleOf(spec.source.persistentVolumeName, api)
  try {
    if (metadata?.deletionTimestamp != null) {
      const patch = handle.includes('stuck') ? undefined : removeFinalizerPatch(metadata.finalizers, FINALIZER)
      if (patch !== undefined) await api.patch(VOLUME_ATTACHMENTS, ref, patch)
      return
    }
    if (status?.attached || status?.attachError != null || handle.includes('slow')) return
    if (!metadata?.finalizers?.includes(FINALIZER)) {
      await api.patch(VOLUME_ATTACHMENTS, ref, addFinalizerPatch(metadata?.finalizers, FINALIZER))
    }
    const refused = { attachError: { message: 'the driver refuses', time: '2026-01-01T00:00:00Z' } }
    const body = { status: handle.includes('refused') ? refused : { attached: true } }
    await api.merge(VOLUME_ATTACHMENTS, { ...ref, subresource: 'status' }, body)
  } catch (error) {
    // Another client has changed or deleted the attachment. The next pass reads it again.
    if (!(error instanceof ApiFailure)) throw error
  }
}

async function handleOf(pvName: string | undefined | null, api: Api): Promise<string> {
  const volume = pvName ? await api.find(PERSISTENT_VOLUMES, { name: pvName }) : undefined
  return volume?.spec?.csi?.volumeHandle ?? ''
}
