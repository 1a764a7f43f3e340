import { parseVersion, type SidecarName } from '@csi-sidecars/kubectl-csi/swap-changes'
import { describe, expect, it } from '@jest/globals'
import { consequencesOf, PUBLIC_DRIVERS, publicDriversTable } from './public-drivers-table.ts'

/** Returns the dangerous changes of a driver by their ids. A question mark means that the change is not certain. */
function changesOf(name: string): readonly string[] {
  const driver = PUBLIC_DRIVERS.find((each) => each.name === name)
  if (driver === undefined) throw new Error(`no driver ${name}`)
  return (Object.keys(driver.sidecars) as SidecarName[]).flatMap((sidecar) =>
    consequencesOf(driver, sidecar, ({ id }) => id),
  )
}

it('each sidecar of a public driver has a version that can be read, except for images without a fixed tag', () => {
  const unreadable = PUBLIC_DRIVERS.flatMap(({ name, sidecars, versions }) =>
    (Object.keys(sidecars) as SidecarName[])
      .filter((sidecar) => parseVersion(versions[sidecar] ?? '') === undefined)
      .map((sidecar) => `${name} ${sidecar}`),
  )
  expect(unreadable).toEqual(['kubevirt attacher', 'kubevirt provisioner'])
})

describe('the consequences for public drivers', () => {
  it('a swap is dangerous for vSphere, because its provisioner is older than the default of Topology', () => {
    expect(changesOf('vsphere')).toEqual([
      'provisioner-topology',
      'provisioner-honor-policy',
      'provisioner-patch-volumes',
    ])
    expect(publicDriversTable()).toMatch(/^\| vsphere \| .*provisioner 4\.0\.1.* \| provisioner: `Topology` on, /m)
  })

  it('a driver that sets the gate Topology keeps its behaviour', () => {
    expect(changesOf('exoscale')).not.toContainEqual(expect.stringMatching(/^provisioner-topology/))
  })

  it('a driver whose capabilities are not examined may be concerned', () => {
    expect(changesOf('democratic-csi')).toContain('provisioner-topology?')
  })

  it('a driver that does not report topology is not concerned', () => {
    expect(changesOf('seaweedfs')).not.toContainEqual(expect.stringMatching(/^provisioner-topology/))
  })

  it('a flag on the command line decides: ceph-rbd enables group snapshots with the removed flag', () => {
    expect(changesOf('ceph-rbd')).toEqual(['snapshotter-groups-flag', 'snapshotter-group-members'])
  })

  it('a driver with the newest versions has no dangerous change', () => {
    expect(changesOf('hostpath')).toEqual([])
  })

  it('a sidecar that is older than the list is reported', () => {
    expect(changesOf('quobyte')).toContain('older than the examined versions')
  })
})
