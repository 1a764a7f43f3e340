import { LIVENESSPROBE, SIDECARS, SIDECARS_ON_REQUEST } from '@csi-sidecars/sidecars'
import { code, table } from './markdown.ts'
import { readText } from './source-texts.ts'

/** Returns the required version of a Go module in a go.mod file. */
export function requiredModule(path: string, module: string, text = readText(path)): string {
  const version = new RegExp(`^\\s*${module} v(\\S+)`, 'm').exec(text)?.[1]
  if (version === undefined) throw new Error(`${path} does not require ${module}`)
  return version
}

/** Returns the table of the versions of Kubernetes, CSI and the Go sidecars with which this version is tested. */
export function compatibilityTable(): string {
  const [oldestTested = '', newer = '', newest = ''] = [
    'control-plane',
    'control-plane-1.37',
    'control-plane-1.38',
  ].map((module) => requiredModule(`testing/e2e/${module}/go.mod`, 'k8s.io/kubernetes'))
  const [, oldest = ''] = /^kubeVersion: ">=(\d+\.\d+)/m.exec(readText('charts/csi-sidecars/Chart.yaml')) ?? []
  const csi = requiredModule('testing/e2e/originals/go.mod', 'github.com/container-storage-interface/spec')
  const helm = requiredModule('tools/helm/go.mod', 'helm.sh/helm/v3')
  return table(
    ['what', 'this version'],
    [
      ...[...SIDECARS, ...SIDECARS_ON_REQUEST].map(({ value }) => [
        `${code(value.name)} takes the place of`,
        value.replaces,
      ]),
      [`${code(`csi-sidecars --controllers=...,${LIVENESSPROBE.prefix}`)} takes the place of`, LIVENESSPROBE.replaces],
      [
        'Kubernetes',
        `${oldest} or newer; all end-to-end tests run on ${oldestTested}, ${newer} and ${newest}, those of attaching and expanding also with the API of 1.33, which a newer server emulates; older ones are not tested`,
      ],
      ['CSI', `1.0 or newer; built from ${csi.replace(/\.0$/, '')}`],
      ['Helm', `3; the chart is tested with ${helm}`],
      ['Node.js', `inside, ${readText('.nvmrc').trim()}`],
      ['support', 'the newest minor version gets fixes; [SECURITY.md](SECURITY.md) says how to report'],
    ],
  )
}
