import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it } from '@jest/globals'
import { ROOT } from './bundle.ts'
import { fill, homeOf, withHome } from './fill.ts'

const HERE = homeOf(ROOT)

it.each([
  ['https://github.com/a/b/releases', 'https://github.com/X-y/z/releases'],
  ['oci://ghcr.io/a/charts/csi-sidecars', 'oci://ghcr.io/x-y/charts/csi-sidecars'],
  ['"github:a/b"', '"github:X-y/z"'],
  ["'^https://github\\.com/a/b/\\.github/'", "'^https://github\\.com/X-y/z/\\.github/'"],
  ['--repo a/b --signer-workflow a/b/.github', '--repo X-y/z --signer-workflow X-y/z/.github'],
  ['github.com/a/bc ghcr.io/ab a/b', 'github.com/a/bc ghcr.io/ab a/b'],
])('the text %s gets the name of another repository: %s', (text, filled) => {
  expect(withHome(text, 'a/b', 'X-y/z')).toBe(filled)
})

it('the repository name in documents, chart and manifests can be replaced and restored', () => {
  const root = mkdtempSync(join(tmpdir(), 'fill-'))
  try {
    const files = [
      'README.md',
      'SECURITY.md',
      'docs',
      'desk/kubectl-csi/krew.yaml',
      'charts/csi-sidecars',
      'package.json',
    ]
    for (const file of files) {
      mkdirSync(dirname(join(root, file)), { recursive: true })
      cpSync(join(ROOT, file), join(root, file), { recursive: true })
    }
    const read = (file: string): string => readFileSync(join(root, file), 'utf8')
    fill(root, 'Example/other')
    expect(homeOf(root)).toBe('Example/other')
    expect(read('README.md')).toContain('oci://ghcr.io/example/charts/csi-sidecars')
    expect(read('desk/kubectl-csi/krew.yaml')).toContain('https://github.com/Example/other/releases/download/')
    const chart = ['Chart.yaml', 'README.md', 'values.yaml'].map((file) => `charts/csi-sidecars/${file}`)
    for (const file of ['README.md', 'docs/drivers.md', 'desk/kubectl-csi/krew.yaml', ...chart]) {
      expect(read(file)).not.toMatch(new RegExp(`${HERE}|ghcr\\.io/${HERE.split('/')[0]}`))
    }
    fill(root, HERE)
    for (const file of ['README.md', 'docs/drivers.md', 'package.json']) {
      expect(read(file)).toBe(readFileSync(join(ROOT, file), 'utf8'))
    }
  } finally {
    rmSync(root, { recursive: true })
  }
})
