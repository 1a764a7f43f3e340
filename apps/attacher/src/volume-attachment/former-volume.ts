import type { InformerEvent } from '@csi-sidecars/informer'
import { compareResourceVersions } from '@csi-sidecars/kube-types'
import type { Attachment } from '../caches/attachment.ts'
import type { Volume } from '../caches/volume.ts'
import { volumeName } from './lanes.ts'
import type { AttachmentMemory } from './memory.ts'
import type { PublishedVolumes } from './published.ts'
import { isDone } from './triggers.ts'

/** What shows whether an attachment has the volume of now. */
export interface FormerVolumes {
  readonly attachmentsOf: (volume: string) => readonly Attachment[]
  readonly published: Pick<PublishedVolumes, 'ofAttachment'>
  readonly memory: Pick<AttachmentMemory, 'hasEndedVolume'>
}

/**
 * Attachments for which the former volume of the name was published though it was gone, or the new one was there: the
 * cache was behind. Versions of all kinds are counted together, so one of the attachment says which was earlier. A pod
 * may use what was published before that, and is left alone.
 */
export function attachedToFormer(
  event: InformerEvent<Volume>,
  { attachmentsOf, published, memory }: FormerVolumes,
): readonly Attachment[] {
  if (event.type !== 'added') return []
  const pv = event.object
  return attachmentsOf(pv.key).filter((va) => {
    if (!va.ours || !isDone(va)) return false
    const name = nameOf(va, pv)
    const ended = memory.hasEndedVolume(va)
    return [...published.ofAttachment(va.uid)].some(
      ({ volume, firstAt }) => volume !== name && (ended || isAfter(firstAt, pv.resourceVersion)),
    )
  })
}

/** Attachments for which the volume was published when it was gone already. */
export function publishedAfterEnd(
  event: InformerEvent<Volume>,
  { attachmentsOf, published }: Pick<FormerVolumes, 'attachmentsOf' | 'published'>,
): readonly Attachment[] {
  if (event.type !== 'deleted' || event.version === undefined) return []
  const { object: pv, version } = event
  return attachmentsOf(pv.key).filter((va) => {
    const name = nameOf(va, pv)
    return [...published.ofAttachment(va.uid)].some(
      ({ volume, firstAt }) => volume === name && isAfter(firstAt, version),
    )
  })
}

function nameOf(va: Attachment, pv: Volume): string {
  return volumeName(va, { from: 'pv', name: pv.key, pv })
}

function isAfter(firstAt: string | undefined, version: string): boolean {
  return firstAt !== undefined && compareResourceVersions(firstAt, version) > 0
}
