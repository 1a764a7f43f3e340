import { parseVersion } from '@csi-sidecars/swap-changes'
import { describe, expect, it } from '@jest/globals'
import { consequencesOf, DRIVER_VERSIONS, PUBLIC_DRIVERS, publicDriversTable } from './public-drivers-table.ts'

/** Returns the dangerous changes of a driver by their ids. A question mark means that the change is not certain. */
function changesOf(name: string): readonly string[] {
  const driver = PUBLIC_DRIVERS.find((each) => each.name === name)
  if (driver === undefined) throw new Error(`no driver ${name}`)
  return consequencesOf(driver).map((each) =>
    each.kind === 'change' ? `${each.change.id}${each.certain ? '' : '?'}` : each.kind,
  )
}

describe('the versions of public drivers', () => {
  it('each driver has an entry, and no entry is unused', () => {
    expect(Object.keys(DRIVER_VERSIONS).toSorted()).toEqual(PUBLIC_DRIVERS.map(({ name }) => name).toSorted())
  })

  it('each sidecar has a version, except for images without a fixed tag', () => {
    const missing = PUBLIC_DRIVERS.flatMap(({ name, sidecars }) =>
      Object.keys(sidecars)
        .filter((sidecar) => !Object.hasOwn(DRIVER_VERSIONS[name]?.versions ?? {}, sidecar))
        .map((sidecar) => `${name} ${sidecar}`),
    )
    expect(missing).toEqual(['kubevirt attacher', 'kubevirt provisioner'])
  })

  it('each version can be read', () => {
    const unreadable = Object.entries(DRIVER_VERSIONS).filter(([, { versions }]) =>
      Object.values(versions).some((version) => parseVersion(version) === undefined),
    )
    expect(unreadable).toEqual([])
  })
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
    expect(changesOf('quobyte')).toContain('not-examined')
  })
})
