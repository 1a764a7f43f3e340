import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { APPS } from '../tools/flag-keys.ts'
import { CHART, exampleFile, render, runHelm, VENDOR_CHART } from './helm.ts'
import { type Manifest, named, podSpecs, sidecar } from './manifest.ts'
import { ALL_SIDECARS } from './values.ts'
import { withHelm } from './with-helm.ts'

withHelm('dependent chart', () => {
  let folder: string
  let objects: readonly Manifest[]

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'vendor-'))
    // Both charts are copied, so that the relative path from the vendor's chart to ours stays valid.
    cpSync(CHART, join(folder, 'csi-sidecars'), { recursive: true })
    const chart = join(folder, 'tests/vendor-chart')
    cpSync(VENDOR_CHART, chart, { recursive: true })
    const built = runHelm(['dependency', 'build', chart])
    if (built.status !== 0) throw new Error(built.stderr)
    objects = render({ chart })
  })

  afterAll(() => rmSync(folder, { recursive: true }))

  it('a chart that depends on our chart with `mode: library` renders only its own objects', () => {
    expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort()).toEqual([
      'ClusterRole vendor-controller',
      'Deployment vendor-controller',
      'Role vendor-controller-leases',
    ])
  })

  it.each(APPS)('a chart that depends on our chart renders the same %s container as our chart', (app) => {
    const ours = sidecar(render({ files: [exampleFile('driver')], values: ALL_SIDECARS }), app)
    const { image, args, ...theirs } = sidecar(objects, app)
    expect(theirs).toEqual({ ...ours, image: undefined, args: undefined })
    expect(image).toBe(ours.image)
    expect(args).toEqual(
      ours.args?.map((argument) => (app === 'attacher' ? argument.replace('=60s', '=90s') : argument)),
    )
  })

  it('a chart that depends on our chart has the RBAC rules of all sidecars in its roles', () => {
    const ours = render({ files: [exampleFile('driver')], values: ALL_SIDECARS })
    const rules = APPS.flatMap(
      (app) => named(ours, 'ClusterRole', `demo-csi-sidecars-external-${app}-role`).rules ?? [],
    )
    expect(named(objects, 'ClusterRole', 'vendor-controller').rules).toEqual(rules)
    expect(named(objects, 'Role', 'vendor-controller-leases').rules).toEqual(
      named(ours, 'Role', 'demo-csi-sidecars-leases').rules,
    )
  })

  it('a chart that depends on our chart has the volume of the socket in its pod', () => {
    expect(podSpecs(objects)[0]?.volumes).toEqual([{ name: 'socket-dir', emptyDir: {} }])
  })
})
