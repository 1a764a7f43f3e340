/** The files of the chart as a release packages them: what only a release knows is filled in, and no link is relative. */

export interface Release {
  /** Where the images are, and below `charts` the chart: `ghcr.io/owner`. */
  readonly registry: string
  /** On GitHub: `owner/csi-sidecars`. */
  readonly repository: string
  /** `v1.2.3` */
  readonly tag: string
}

const FOLDER = 'charts/csi-sidecars'
const DOCUMENT = 'docs/operations.md'

const site = ({ repository }: Release): string => `https://github.com/${repository}`
const page = (release: Release, path: string): string => `${site(release)}/blob/${release.tag}/${path}`
const rawFile = ({ repository, tag }: Release, path: string): string =>
  `https://raw.githubusercontent.com/${repository}/${tag}/${path}`

export function releasedValues(text: string, release: Release): string {
  const filled = replaced(text, /^ {2}registry: ""$/m, `  registry: ${release.registry}`)
  return replaced(filled, `runbook: ${DOCUMENT}`, `runbook: ${page(release, DOCUMENT)}`)
}

export function releasedChart(text: string, release: Release): string {
  const images = ['csi-attacher', 'csi-resizer', 'csi-sidecars'].map(
    (name) => `    - {name: ${name}, image: "${release.registry}/${name}:${release.tag}"}\n`,
  )
  const places = `home: ${site(release)}
sources:
  - ${site(release)}/tree/${release.tag}
icon: ${rawFile(release, `${FOLDER}/icon.svg`)}
maintainers:
  - name: The csi-sidecars Authors
    url: ${site(release)}
`
  const links = `  artifacthub.io/links: |
    - {name: For driver authors, url: "${page(release, 'docs/drivers.md')}"}
    - {name: Operations, url: "${page(release, DOCUMENT)}"}
  artifacthub.io/images: |
${images.join('')}`
  const withPlaces = replaced(text, /^# A release adds .*\nmaintainers:\n {2}- name: .*\n/m, places)
  return `${withPlaces.trimEnd()}\n${links}`
}

export function releasedReadme(text: string, release: Release): string {
  const version = release.tag.slice(1)
  const linked = text
    .replaceAll(/\]\(\.\.\/\.\.\/([^)]+)\)/g, (_, path: string) => `](${page(release, path)})`)
    .replaceAll(/\]\((?!https?:|#)([^)]+)\)/g, (_, path: string) => `](${page(release, `${FOLDER}/${path}`)})`)
    .replaceAll(`${FOLDER}/examples/`, rawFile(release, `${FOLDER}/examples/`))
    .replaceAll(` ${FOLDER} `, ` oci://${release.registry}/charts/csi-sidecars --version ${version} `)
  return replaced(linked, /registry: registry\.example\.com\/storage/, `registry: ${release.registry}`)
}

/** What is to be replaced must be there: a release must not go on without it. */
function replaced(text: string, what: string | RegExp, by: string): string {
  const result = text.replace(what, () => by)
  if (result === text) throw new Error(`the chart has no ${what}`)
  return result
}
