import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { ROOT, readJson } from './bundle.ts'
import { releaseNotes } from './release-notes.ts'
import { RELEASED } from './released.ts'

const ATTACHER = `# @csi-sidecars/attacher

## 0.2.0

### Minor Changes

- abc1234: The leader ends sooner.

  A second paragraph.

### Patch Changes

- def5678: Help names the default.
- Updated dependencies
  - @csi-sidecars/base@0.2.0

## 0.1.0

### Minor Changes

- 0000000: The first release.
`
const PROVISIONER = `# @csi-sidecars/provisioner

## 0.2.0

### Minor Changes

- abc1234: The leader ends sooner.

  A second paragraph.
- 1112222: Parameters have templates.
`
const CHANGELOGS = new Map([
  ['csi-attacher', ATTACHER],
  ['csi-provisioner', PROVISIONER],
])

it('the notes of a release name each change once, with the programs that have it', () => {
  expect(releaseNotes(CHANGELOGS, '0.2.0')).toBe(`### Minor Changes

- The leader ends sooner.

  A second paragraph.
- **csi-provisioner:** Parameters have templates.

### Patch Changes

- **csi-attacher:** Help names the default.
`)
})

it('the notes of a release have no change of another version', () => {
  expect(releaseNotes(CHANGELOGS, '0.1.0')).toBe('### Minor Changes\n\n- **csi-attacher:** The first release.\n')
})

it('the notes of a version that no changelog has are an error', () => {
  expect(() => releaseNotes(CHANGELOGS, '0.2')).toThrow('no changelog has changes of 0.2')
})

it('changesets give all released programs one version', () => {
  const { fixed } = readJson<{ fixed: readonly (readonly string[])[] }>(join(ROOT, '.changeset/config.json'))
  const names = RELEASED.map(({ folder }) => readJson<{ name: string }>(join(ROOT, folder, 'package.json')).name)
  expect(fixed).toEqual([expect.arrayContaining(names)])
  expect(readFileSync(join(ROOT, '.changeset/README.md'), 'utf8')).toContain('they share one version')
})
