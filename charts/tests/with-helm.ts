import process from 'node:process'
import { describe, it } from '@jest/globals'
import { helmPath } from './helm.ts'
import { promtoolPath } from './promtool.ts'

/** A `describe` whose tests render the chart. Without Helm its body is not even run. */
export function withHelm(name: string, body: () => void): void {
  if (helmPath() === undefined) describe.skip(name, () => it('needs Helm', () => undefined))
  else describe(name, body)
}

/** The same for tests that ask promtool about rendered rules. */
export function withPromtool(name: string, body: () => void): void {
  if (promtoolPath() !== undefined) return withHelm(name, body)
  // The workflow installs it: without it these tests would be skipped unnoticed.
  if (process.env['GITHUB_ACTIONS'] !== undefined) throw new Error(`${name}: there is no promtool here`)
  describe.skip(name, () => it('needs promtool', () => undefined))
}
