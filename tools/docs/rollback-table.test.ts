import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { STANDARD_FLAGS } from '@csi-sidecars/sidecar'
import { SIDECARS, SIDECARS_ON_REQUEST } from '@csi-sidecars/sidecars'
import { describe, expect, it } from '@jest/globals'
import { sectionOf } from './markdown.ts'
import { ORIGINAL_FLAGS } from './rollback-table.ts'
import { ROOT, readText } from './source-texts.ts'

describe('the rollback section of docs/migration.md', () => {
  const section = sectionOf(readText('docs/migration.md'), 'rollback-flags') ?? ''
  const rows = section.split('\n').map((line) => line.split('|').map((cell) => cell.trim()))
  const removedFlags = (of: string): readonly string[] => {
    const [, , cell = ''] = rows.find(([, first]) => first === of) ?? []
    return [...cell.matchAll(/`--([\w-]+)`/g)].map(([, name = '']) => name)
  }

  it.each([...SIDECARS, ...SIDECARS_ON_REQUEST].map(({ app, value }) => [app, value.flags] as const))(
    'the rollback section names exactly the flags of our %s that the Go sidecar does not have',
    (app, flags) => {
      const names = [...STANDARD_FLAGS, ...flags].flatMap((flag) => [
        flag.name,
        ...('aliases' in flag && flag.aliases !== undefined ? flag.aliases : []),
      ])
      const ours = names.filter((name) => !ORIGINAL_FLAGS[app]?.includes(name))
      expect(ours.length).toBeGreaterThan(12)
      expect([...removedFlags('all'), ...removedFlags(app)].toSorted()).toEqual(ours.toSorted())
    },
  )

  it('the rollback section names the feature gates that the Go sidecars have removed', () => {
    expect(section).toContain('`RecoverVolumeExpansionFailure`')
    expect(section).toContain('`HonorPVReclaimPolicy`')
  })
})

it.each(Object.keys(ORIGINAL_FLAGS))('the recorded flags of the Go sidecar %s equal the flags in its help', (app) => {
  const original = join(ROOT, `.cache/control-plane/bin/csi-${app}`)
  // The test is skipped if the Go sidecars are not built.
  if (!existsSync(original)) return
  const { stderr } = spawnSync(original, ['--help'], { encoding: 'utf8' })
  const names = [...stderr.matchAll(/^ {2,6}(?:-v, )?--?([a-z][a-z-]*)/gm)].map(([, name = '']) => name)
  expect(names.toSorted()).toEqual(ORIGINAL_FLAGS[app]?.toSorted())
})
