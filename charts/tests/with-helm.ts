import { describe, it } from '@jest/globals'
import { helmPath } from './helm.ts'

/** A `describe` whose tests render the chart. Without Helm its body is not even run. */
export function withHelm(name: string, body: () => void): void {
  if (helmPath() === undefined) describe.skip(name, () => it('needs Helm', () => undefined))
  else describe(name, body)
}
