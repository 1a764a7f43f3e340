import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { ROOT } from '../tools/bundle.ts'
import { homeOf } from '../tools/fill.ts'
import { rehearsedArguments, verifyLines } from './verify-lines.ts'

const home = homeOf(ROOT)
const cosign = { program: 'cosign', signing: [], verifying: ['--key', 'k'], registry: ['--allow-http-registry'] }
const rehearsed = { registry: '127.0.0.1:5000/me', version: 'v9.0.0', cosign }

test.each(['SECURITY.md', 'docs/drivers.md'])(
  'each line of %s that verifies a release names who must have signed',
  (file) => {
    const lines = verifyLines(readFileSync(join(ROOT, file), 'utf8'))
    expect(lines.map((line) => rehearsedArguments(line, home, rehearsed))).toEqual([
      ['verify', '127.0.0.1:5000/me/csi-attacher:v9.0.0', '--key', 'k', '--allow-http-registry'],
      [
        'verify-attestation',
        '127.0.0.1:5000/me/csi-attacher:v9.0.0',
        '--type',
        'spdxjson',
        '--key',
        'k',
        '--allow-http-registry',
      ],
    ])
  },
)

test('a line that accepts any identity is refused', () => {
  const line = "cosign verify ghcr.io/x/y:v1 --certificate-oidc-issuer a --certificate-identity-regexp '.*'"
  expect(() => rehearsedArguments(line, home, rehearsed)).toThrow('does not name who must have signed')
})
