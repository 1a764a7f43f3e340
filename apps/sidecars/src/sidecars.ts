import { attacher } from '@csi-sidecars/attacher'
import { livenessprobe } from '@csi-sidecars/livenessprobe'
import { provisioner } from '@csi-sidecars/provisioner'
import { resizer } from '@csi-sidecars/resizer'
import { type App, combine, type DriverApp, type Program } from '@csi-sidecars/sidecar'
import { snapshotter } from '@csi-sidecars/snapshotter'

/** A sidecar with an executable, an image and a section in the chart. */
interface Sidecar<N> {
  /** The folder under `apps`, section in the chart's values, and prefix of flags. */
  readonly app: N
  /** The task of the sidecar, for the label of its image. */
  readonly does: string
  readonly value: App
}

export type AppName = 'attacher' | 'resizer'
export type NameOnRequest = 'provisioner' | 'snapshotter'

/** The sidecars that the combined process runs by default. */
export const SIDECARS: readonly Sidecar<AppName>[] = [
  { app: 'attacher', does: 'VolumeAttachments to ControllerPublishVolume and back', value: attacher },
  { app: 'resizer', does: 'claims to ControllerExpandVolume and ControllerModifyVolume', value: resizer },
]

/** The sidecars that the combined process runs only if `--controllers` names them. */
export const SIDECARS_ON_REQUEST: readonly Sidecar<NameOnRequest>[] = [
  { app: 'provisioner', does: 'claims to CreateVolume, released volumes to DeleteVolume', value: provisioner },
  {
    app: 'snapshotter',
    does: 'VolumeSnapshotContents to CreateSnapshot, DeleteSnapshot and ListSnapshots',
    value: snapshotter,
  },
]

export const APPS: readonly AppName[] = SIDECARS.map(({ app }) => app)

/**
 * The livenessprobe runs in the combined process only and has neither image nor executable: in a separate container it
 * would need several times the memory of the Go sidecar.
 */
export const LIVENESSPROBE: DriverApp = livenessprobe

/** The sidecars of the combined process: the default sidecars, and the sidecars that run only on request. */
export const CHOICE = {
  byDefault: SIDECARS.map(({ value }) => value),
  onRequest: [...SIDECARS_ON_REQUEST.map(({ value }) => value), LIVENESSPROBE],
}

/** The program of the combined process. */
export const sidecars: Program = combine('csi-sidecars', CHOICE)
