import type { InformerEvent } from '@csi-sidecars/informer'
import { compareResourceVersions } from '@csi-sidecars/kube-types'
import type { Attachment } from '../caches/attachment.ts'
import type { Volume } from '../caches/volume.ts'
import { volumeName } from './lanes.ts'
import type { Publication, PublishedVolumes } from './published.ts'

/** What shows whether attachments have the volume of now. */
export interface FormerVolumes {
  readonly attachmentsOf: (volume: string) => readonly Attachment[]
  readonly published: Pick<PublishedVolumes, 'ofAttachment' | 'isOutdated'>
}

interface OfAttachment {
  readonly va: Attachment
  readonly publication: Publication
}

/**
 * What was published of the former volume of the name though it was gone, or the new one was there: the cache was behind.
 * Versions of all kinds are counted together, so one of the attachment says which was earlier. A pod may use what was
 * published before that, and is left alone.
 */
export function publishedOfFormer(event: InformerEvent<Volume>, known: FormerVolumes): readonly OfAttachment[] {
  if (event.type !== 'added') return []
  const pv = event.object
  return publicationsFor(pv, known).filter(
    ({ va, publication }) =>
      publication.volume !== nameOf(va, pv) &&
      (known.published.isOutdated(publication) || isAfter(publication.firstAt, pv.resourceVersion)),
  )
}

/** What was published of the volume when it was gone already. */
export function publishedAfterEnd(event: InformerEvent<Volume>, known: FormerVolumes): readonly Publication[] {
  if (event.type !== 'deleted' || event.version === undefined) return []
  const { object: pv, version } = event
  return publicationsFor(pv, known)
    .filter(({ va, publication }) => publication.volume === nameOf(va, pv) && isAfter(publication.firstAt, version))
    .map(({ publication }) => publication)
}

/** For the attachments that the volume still has. */
function publicationsFor(pv: Volume, { attachmentsOf, published }: FormerVolumes): readonly OfAttachment[] {
  return attachmentsOf(pv.key)
    .filter((va) => va.ours && !va.deleting)
    .flatMap((va) => [...published.ofAttachment(va.uid)].map((publication) => ({ va, publication })))
}

function nameOf(va: Attachment, pv: Volume): string {
  return volumeName(va, { from: 'pv', name: pv.key, pv })
}

function isAfter(firstAt: string | undefined, version: string): boolean {
  return firstAt !== undefined && compareResourceVersions(firstAt, version) > 0
}
