import type { Reader } from '@csi-sidecars/informer'
import { BY_VOLUME, type CachedAttachment } from '../caches/attachment.ts'
import type { CachedVolume } from '../caches/volume.ts'
import type { UndoneWrite } from '../term/undone-write.ts'
import type { ReleaseView, VolumeReleaseSettings } from './decide.ts'

/** The caches, the settings, and the writes that another writer has reverted: the input of a ReleaseView. */
export interface ReleaseObserveDeps {
  readonly volumes: { readonly store: Pick<Reader<CachedVolume>, 'get'> }
  readonly attachments: Pick<Reader<CachedAttachment>, 'byIndex'>
  /** The last removal of our finalizer by another writer, by UID of the PersistentVolume. */
  readonly undone: ReadonlyMap<string, UndoneWrite>
  readonly settings: VolumeReleaseSettings
}

/** Returns the state of a PersistentVolume from the caches. Undefined if it is gone. */
export function observeRelease(
  name: string,
  { volumes, attachments, undone, settings }: ReleaseObserveDeps,
): ReleaseView | undefined {
  const pv = volumes.store.get(name)
  if (pv === undefined) return undefined
  return { pv, attachments: attachments.byIndex(BY_VOLUME, name), finalizerRemoved: undone.has(pv.uid), settings }
}
