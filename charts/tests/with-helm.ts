import process from 'node:process'
import { describe, it } from '@jest/globals'
import { helmPath } from './helm.ts'
import { promtoolPath } from './promtool.ts'

/** A `describe` for tests that render the chart. Without Helm its body does not run, because the body renders too. */
export function withHelm(name: string, body: () => void): void {
  if (helmPath() === undefined) describe.skip(name, () => it('needs Helm', () => undefined))
  else describe(name, body)
}

/** A `describe` whose tests run promtool on rendered rules. Without Helm or promtool its body does not run. */
export function withPromtool(name: string, body: () => void): void {
  if (promtoolPath() !== undefined) return withHelm(name, body)
  // The CI workflow installs promtool. This error prevents that CI skips these tests unnoticed.
  if (process.env['GITHUB_ACTIONS'] !== undefined) throw new Error(`${name}: there is no promtool here`)
  describe.skip(name, () => it('needs promtool', () => undefined))
}
