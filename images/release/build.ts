// What one machine adds to a release: everything that is made on it, before anything is published.
//   npm exec -- node images/release/build.ts [--out FOLDER] [--registry HOST/OWNER] [--sources FOLDER]
// The folder gets `files`, for the release page, `krew.yaml`, which lacks the checksums of what other machines build, and
// `layout`, the images and the chart as an OCI layout. A second build
// of the same commit, in any folder, makes the same bytes.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readArguments } from '@csi-sidecars/command'
import { PROGRAMS, ROOT, readBundle, releaseVersion, SIDECARS } from '../tools/bundle.ts'
import { addChart, packChart } from '../tools/chart.ts'
import { committedAt, revision } from '../tools/commit.ts'
import { ARCHITECTURE, makeContext } from '../tools/context.ts'
import { ARCHITECTURES, makeExecutables } from '../tools/executables.ts'
import { homeOf, registryOf } from '../tools/fill.ts'
import { makeImages } from '../tools/images.ts'
import { Layout } from '../tools/layout.ts'
import { debianParts, lackingForLibraries } from '../tools/libraries.ts'
import { nodeOrigin } from '../tools/node-origin.ts'
import { KREW, makePrograms } from '../tools/programs.ts'
import { sbomOf } from '../tools/sbom.ts'
import { ASSESSMENTS } from '../vex/assessments.ts'
import { loadedFeatures } from '../vex/features.ts'
import { openVex } from '../vex/openvex.ts'
import { VEX } from './files.ts'

const { values } = readArguments('npm exec -- node images/release/build.ts [--out FOLDER] [--registry HOST/OWNER]', {
  options: { out: { type: 'string' }, registry: { type: 'string' } },
})
const lacking = lackingForLibraries()
if (lacking !== undefined) throw new Error(lacking)
const architecture = ARCHITECTURES.find((name) => name === process.arch)
if (architecture === undefined) throw new Error(`a release is built on ${ARCHITECTURES.join(' or ')}`)

const out = resolve(values.out ?? join(ROOT, '.cache/release', architecture))
const [files, context] = [join(out, 'files'), join(out, 'context')]
const [version, createdAt] = [releaseVersion(), committedAt()]
const home = homeOf(ROOT)
rmSync(out, { recursive: true, force: true })
mkdirSync(files, { recursive: true })

makeExecutables([architecture], { out: files, version, createdAt })
// The page has one list of checksums, of everything.
rmSync(join(files, 'SHA256SUMS'))
makePrograms(files, createdAt)
// Without checksums yet: it names the archives of all machines.
copyFileSync(KREW, join(out, 'krew.yaml'))
const debian = debianParts(process.execPath)
for (const name of SIDECARS) {
  const sbom = sbomOf({ bundle: readBundle(name), version, createdAt, node: nodeOrigin(), debian })
  writeFileSync(join(files, `${name}-${version}-image-${ARCHITECTURE}.spdx.json`), `${JSON.stringify(sbom, null, 2)}\n`)
}

const said = {
  assessments: ASSESSMENTS,
  loaded: loadedFeatures(),
  home,
  version,
  createdAt,
  images: SIDECARS,
  names: PROGRAMS,
}
const vex = openVex(said)
if (vex !== undefined) writeFileSync(join(files, VEX), `${JSON.stringify(vex, null, 2)}\n`)

const layout = new Layout(join(out, 'layout'))
makeContext(context)
const source = `https://github.com/${home}`
const images = makeImages(context, layout, { version, revision: revision(), source, createdAt })
rmSync(context, { recursive: true })
const chart = packChart({ root: ROOT, registry: values.registry ?? registryOf(home), createdAt })
writeFileSync(join(files, chart.name), chart.content)
layout.finish({ ...images, chart: addChart(chart, layout) })
execFileSync(join(files, `csi-attacher-${version}-linux-${architecture}`), ['--version'], { stdio: 'inherit' })
process.stdout.write(`${out}\n`)
