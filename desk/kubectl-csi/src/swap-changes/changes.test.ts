import { describe, expect, it } from '@jest/globals'
import type { SidecarName } from './change.ts'
import { CHANGES } from './changes/all.ts'
import { changesAfter, OLDEST_EXAMINED } from './changes-after.ts'
import { compareVersions, parseVersion, type Version } from './version.ts'

const idsAfter = (sidecar: SidecarName, version: string): readonly string[] =>
  changesAfter(sidecar, version).changes.map(({ id }) => id)

function versionOf(text: string): Version {
  const version = parseVersion(text)
  if (version === undefined) throw new Error(`no version: ${text}`)
  return version
}

describe('CHANGES', () => {
  it('each change has an id of its own, which starts with its sidecar', () => {
    expect(new Set(CHANGES.map(({ id }) => id)).size).toBe(CHANGES.length)
    expect(CHANGES.filter(({ id, sidecar }) => !id.startsWith(`${sidecar}-`))).toEqual([])
  })

  it('the changes of a sidecar are sorted by version, the newest first', () => {
    const isOlder = CHANGES.every(({ sidecar, since }, at) => {
      const next = CHANGES[at + 1]
      return next?.sidecar !== sidecar || compareVersions(versionOf(since), versionOf(next.since)) >= 0
    })
    expect(isOlder).toBe(true)
  })

  it('each change is newer than the oldest examined version of its sidecar', () => {
    const tooOld = CHANGES.filter(
      ({ sidecar, since }) => compareVersions(versionOf(since), versionOf(OLDEST_EXAMINED[sidecar])) <= 0,
    )
    expect(tooOld).toEqual([])
  })

  it('the source of a change is the changelog of the version that made the change', () => {
    const wrong = CHANGES.filter(({ since, source }) => {
      const [major, minor] = versionOf(since)
      return source.kind === 'changelog'
        ? source.file !== `CHANGELOG/CHANGELOG-${major}.${minor}.md`
        : source.between[1] !== `v${since}`
    })
    expect(wrong.map(({ id }) => id)).toEqual([])
  })

  it('a change of a right names rules, unless the right is no longer needed', () => {
    const without = CHANGES.filter(({ kind, rules }) => kind === 'right' && rules === undefined)
    expect(without.map(({ id }) => id)).toEqual(['snapshotter-fewer-rights'])
  })

  it('an argument that keeps the older behaviour is one flag with its value', () => {
    const wrong = CHANGES.filter(
      ({ restoration }) => restoration.kind === 'argument' && !/^--[a-z-]+(=\S+)?$/.test(restoration.argument),
    )
    expect(wrong).toEqual([])
  })
})

describe('changesAfter', () => {
  it('a provisioner of version 4 is warned that Topology is on, and one of version 5 is not', () => {
    expect(idsAfter('provisioner', 'v4.0.1')).toContain('provisioner-topology')
    expect(idsAfter('provisioner', 'v5.0.0')).not.toContain('provisioner-topology')
  })

  it('a mode conversion concerns provisioners before version 4 only', () => {
    expect(idsAfter('provisioner', '3.6.4')).toContain('provisioner-mode-conversion')
    expect(idsAfter('provisioner', '4.0.0')).not.toContain('provisioner-mode-conversion')
  })

  it.each([
    ['attacher', 'v4.13.0'],
    ['provisioner', 'v6.4.0'],
    ['resizer', 'v2.3.0'],
    ['snapshotter', 'v8.7.0'],
    ['livenessprobe', 'v2.20.0'],
  ] as const)('the replaced version of the %s has no changes', (sidecar, version) => {
    expect(changesAfter(sidecar, version)).toEqual({ kind: 'examined', changes: [] })
  })

  it('the heaviest changes come first', () => {
    const weights = changesAfter('provisioner', '2.0.0').changes.map(({ weight }) => weight)
    const order = ['danger', 'check', 'note']
    expect(weights).toEqual(weights.toSorted((one, other) => order.indexOf(one) - order.indexOf(other)))
    expect(new Set(weights)).toEqual(new Set(order))
  })

  it('a version before the oldest examined version is reported as not examined', () => {
    expect(changesAfter('snapshotter', 'v3.0.3').kind).toBe('not-examined')
    expect(changesAfter('snapshotter', 'v4.0.0').kind).toBe('examined')
  })

  it('a text without a version is refused', () => {
    expect(() => changesAfter('attacher', 'latest')).toThrow('no version in latest')
  })
})

describe('parseVersion', () => {
  it.each([
    ['v4.0.1', [4, 0, 1]],
    ['2.3.0', [2, 3, 0]],
    ['v1.10', [1, 10, 0]],
    ['registry.k8s.io/sig-storage/csi-provisioner:v4.0.1_vmware.1', [4, 0, 1]],
    ['v6.3.0-eksbuild.3', [6, 3, 0]],
    ['v5.2.0-rancher1', [5, 2, 0]],
  ])('reads the version in %s', (text, version) => {
    expect(parseVersion(text)).toEqual(version)
  })

  it.each(['latest', '', 'v4', 'master'])('finds no version in %s', (text) => {
    expect(parseVersion(text)).toBeUndefined()
  })
})
