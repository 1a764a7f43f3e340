import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onPath } from './helm.ts'

export function promtoolPath(): string | undefined {
  return onPath('promtool')
}

/** Returns the output of `promtool test rules` about failed tests. Returns the empty string if all tests pass. */
export function ruleFailures(groups: unknown, tests: readonly object[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'promtool-'))
  try {
    // promtool reads YAML, and JSON is valid YAML.
    writeFileSync(join(folder, 'rules.yaml'), JSON.stringify({ groups }))
    const file = join(folder, 'tests.yaml')
    writeFileSync(file, JSON.stringify({ rule_files: ['rules.yaml'], evaluation_interval: '1m', tests }))
    const { status, stdout, stderr } = spawnSync(promtoolPath() ?? '', ['test', 'rules', file], { encoding: 'utf8' })
    return status === 0 ? '' : `${stdout}${stderr}`
  } finally {
    rmSync(folder, { recursive: true })
  }
}
