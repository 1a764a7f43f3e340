import { SIDECARS, SIDECARS_ON_REQUEST } from '@csi-sidecars/sidecars'
import { expect, it } from '@jest/globals'
import { compatibilityTable, requiredModule } from './compatibility-table.ts'

/** The folders of the Go sidecars with a go.mod of their own. */
const FOLDERS: Readonly<Record<string, string>> = {
  'external-provisioner': 'originals/provisioner',
  'external-snapshotter': 'originals/snapshotter',
}

it.each([...SIDECARS, ...SIDECARS_ON_REQUEST].map(({ app, value }) => [app, value.replaces]))(
  'the end-to-end tests compare the %s with the Go sidecar that it replaces: %s',
  (_, replaces) => {
    const [name = '', version = ''] = replaces.split(' v')
    const major = version.split('.')[0]
    const folder = FOLDERS[name] ?? 'originals'
    expect(requiredModule(`testing/e2e/${folder}/go.mod`, `github.com/kubernetes-csi/${name}/v${major}`)).toBe(version)
  },
)

it('the version of a Go module comes from its `require` line in go.mod', () => {
  expect(requiredModule('go.mod', 'a.b/c', 'require (\n\ta.b/cd v1.0.0\n\ta.b/c v2.0.0 // indirect\n)\n')).toBe('2.0.0')
  expect(() => requiredModule('go.mod', 'a.b/c', 'require a.b/d v1.0.0\n')).toThrow('go.mod does not require a.b/c')
})

it('the compatibility table has no empty cell', () => {
  expect(compatibilityTable()).not.toMatch(/undefined|\| {2}\|/)
})
