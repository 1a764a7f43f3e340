import { attacher } from '@csi-sidecars/attacher'
import { livenessprobe } from '@csi-sidecars/livenessprobe'
import { noop } from '@csi-sidecars/noop'
import { resizer } from '@csi-sidecars/resizer'
import { type CombinedApp, combinable, combinableDriverApp, combine, type Program } from '@csi-sidecars/sidecar'
import { snapshotter } from '@csi-sidecars/snapshotter'

interface Row {
  /** Its folder under apps, its prefix before flags, its section in the chart's values. */
  readonly app: string
  /** What it does, for the label of its image. */
  readonly does: string
  /** False: no image, executable, chart section, document or help text mentions it. */
  readonly released: boolean
  readonly value: CombinedApp
}

const ROWS = [
  {
    app: 'attacher',
    does: 'VolumeAttachments to ControllerPublishVolume and back',
    released: true,
    value: combinable(attacher),
  },
  {
    app: 'resizer',
    does: 'claims to ControllerExpandVolume and ControllerModifyVolume',
    released: true,
    value: combinable(resizer),
  },
  {
    app: 'snapshotter',
    does: 'VolumeSnapshotContents to CreateSnapshot, DeleteSnapshot and ListSnapshots',
    released: false,
    value: combinable(snapshotter, { released: false }),
  },
  { app: 'noop', does: 'nothing, as a template', released: false, value: combinable(noop, { released: false }) },
] as const satisfies readonly Row[]

type Sidecar = Extract<(typeof ROWS)[number], { readonly released: true }>

/** The released sidecars. Images, executables, chart tests, end-to-end tests, benchmarks and documents follow this list. */
export const SIDECARS: readonly Sidecar[] = ROWS.filter((row): row is Sidecar => row.released)

export type AppName = Sidecar['app']

export const APPS: readonly AppName[] = SIDECARS.map(({ app }) => app)

/** One entry for each released sidecar. */
export function byApp<T>(make: (app: AppName) => T): Readonly<Record<AppName, T>> {
  return Object.fromEntries(APPS.map((app) => [app, make(app)])) as Record<AppName, T>
}

/** It runs in the combined process only: no image, no executable. As a container of its own it would need several times the memory of its original. */
export const LIVENESSPROBE = combinableDriverApp(livenessprobe)

/** The controllers that one process can run. */
export const sidecars: Program = combine('csi-sidecars', [...ROWS.map(({ value }) => value), LIVENESSPROBE])
