import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Bundle, BundledPackage } from './bundle.ts'
import type { DebianPackage, Distribution } from './libraries.ts'
import type { NodeOrigin } from './node-origin.ts'

/** A bill of materials in SPDX 2.3, as JSON. */
export interface Spdx {
  readonly spdxVersion: 'SPDX-2.3'
  readonly dataLicense: 'CC0-1.0'
  readonly SPDXID: 'SPDXRef-DOCUMENT'
  readonly name: string
  readonly documentNamespace: string
  readonly creationInfo: { readonly created: string; readonly creators: readonly string[] }
  readonly packages: readonly SpdxPackage[]
  readonly relationships: readonly SpdxRelationship[]
}

export interface SpdxPackage {
  readonly SPDXID: string
  readonly name: string
  readonly versionInfo: string
  readonly downloadLocation: string
  readonly packageFileName?: string
  readonly comment?: string
  readonly filesAnalyzed: false
  readonly licenseConcluded: 'NOASSERTION'
  readonly licenseDeclared: string
  readonly copyrightText: 'NOASSERTION'
  readonly primaryPackagePurpose: 'APPLICATION' | 'LIBRARY'
  readonly checksums?: readonly { readonly algorithm: 'SHA512' | 'SHA256'; readonly checksumValue: string }[]
  readonly externalRefs?: readonly SpdxReference[]
}

interface SpdxReference {
  readonly referenceCategory: 'PACKAGE-MANAGER' | 'SECURITY'
  readonly referenceType: 'purl' | 'cpe23Type'
  readonly referenceLocator: string
}

interface SpdxRelationship {
  readonly spdxElementId: string
  readonly relationshipType: 'DESCRIBES' | 'CONTAINS' | 'GENERATED_FROM'
  readonly relatedSpdxElement: string
}

export interface SbomOptions {
  readonly bundle: Bundle
  readonly version: string
  /** Milliseconds since 1970: of the commit, so that the same commit gives the same text. */
  readonly createdAt: number
  readonly node: NodeOrigin
  /** In an image only: an executable uses the libraries of its machine. */
  readonly debian?: { readonly distribution: Distribution; readonly packages: readonly DebianPackage[] }
}

const COMMON = { filesAnalyzed: false, licenseConcluded: 'NOASSERTION', copyrightText: 'NOASSERTION' } as const

export function sbomOf({ bundle, version, createdAt, node, debian }: SbomOptions): Spdx {
  const app = application(bundle, version)
  const [itself, from] = [nodeItself(node), nodeArchive(node)]
  const parts = [
    ...bundle.packages.map(npmPackage),
    ...(debian?.packages ?? []).map((one) => debianPackage(one, debian?.distribution.id ?? '')),
  ]
  const packages = [app, itself, from, ...parts]
  const relationships: SpdxRelationship[] = [
    { spdxElementId: 'SPDXRef-DOCUMENT', relationshipType: 'DESCRIBES', relatedSpdxElement: app.SPDXID },
    { spdxElementId: app.SPDXID, relationshipType: 'CONTAINS', relatedSpdxElement: itself.SPDXID },
    { spdxElementId: itself.SPDXID, relationshipType: 'GENERATED_FROM', relatedSpdxElement: from.SPDXID },
    ...parts.map(({ SPDXID }) => ({
      spdxElementId: app.SPDXID,
      relationshipType: 'CONTAINS' as const,
      relatedSpdxElement: SPDXID,
    })),
  ]
  const name = `${bundle.name}-${version}${debian === undefined ? '' : '-image'}`
  const digest = createHash('sha256').update(JSON.stringify(packages)).digest('hex')
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name,
    documentNamespace: `https://spdx.org/spdxdocs/${name}-${digest}`,
    creationInfo: {
      created: new Date(createdAt).toISOString().replace(/\.\d+Z$/, 'Z'),
      creators: ['Tool: csi-sidecars-images'],
    },
    packages,
    relationships,
  }
}

function application({ name, file }: Bundle, version: string): SpdxPackage {
  const checksumValue = createHash('sha256').update(readFileSync(file)).digest('hex')
  return {
    ...COMMON,
    SPDXID: `SPDXRef-${name}`,
    name,
    versionInfo: version,
    downloadLocation: 'NOASSERTION',
    licenseDeclared: 'Apache-2.0',
    primaryPackagePurpose: 'APPLICATION',
    checksums: [{ algorithm: 'SHA256', checksumValue }],
  }
}

/** The file, by which scanners know its weaknesses. */
function nodeItself({ name, version, sha256 }: NodeOrigin): SpdxPackage {
  return {
    ...COMMON,
    SPDXID: 'SPDXRef-node',
    name: 'node',
    versionInfo: version,
    downloadLocation: archiveOf(name, version),
    packageFileName: 'bin/node',
    comment: `bin/node of the npm package ${name}, which has this SHA-256. Its symbols are taken out when it is shipped.`,
    licenseDeclared: 'MIT',
    primaryPackagePurpose: 'APPLICATION',
    checksums: [{ algorithm: 'SHA256', checksumValue: sha256 }],
    externalRefs: [
      purl(`pkg:generic/node@${version}`),
      {
        referenceCategory: 'SECURITY',
        referenceType: 'cpe23Type',
        referenceLocator: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
      },
    ],
  }
}

/** The npm package that the file is copied from. */
function nodeArchive({ name, version, integrity }: NodeOrigin): SpdxPackage {
  return { ...npmPackage({ name, version, licence: 'MIT', integrity }), primaryPackagePurpose: 'APPLICATION' }
}

function npmPackage({ name, version, licence, integrity }: Omit<BundledPackage, 'folder'>): SpdxPackage {
  return {
    ...COMMON,
    SPDXID: id('npm', `${name}-${version}`),
    name,
    versionInfo: version,
    downloadLocation: archiveOf(name, version),
    licenseDeclared: licence.replace(/^\((.*)\)$/, '$1'),
    primaryPackagePurpose: 'LIBRARY',
    checksums: [{ algorithm: 'SHA512', checksumValue: hexOf(integrity) }],
    externalRefs: [purl(`pkg:npm/${name.replace('@', '%40')}@${version}`)],
  }
}

function debianPackage({ name, version, architecture }: DebianPackage, distribution: string): SpdxPackage {
  return {
    ...COMMON,
    SPDXID: id('deb', `${name}-${version}`),
    name,
    versionInfo: version,
    downloadLocation: 'NOASSERTION',
    // Its text is in the image, in /usr/share/doc.
    licenseDeclared: 'NOASSERTION',
    primaryPackagePurpose: 'LIBRARY',
    externalRefs: [purl(`pkg:deb/${distribution}/${name}@${encodeURIComponent(version)}?arch=${architecture}`)],
  }
}

const archiveOf = (name: string, version: string): string =>
  `https://registry.npmjs.org/${name}/-/${name.split('/').at(-1)}-${version}.tgz`

const purl = (referenceLocator: string): SpdxReference => ({
  referenceCategory: 'PACKAGE-MANAGER',
  referenceType: 'purl',
  referenceLocator,
})

/** SPDX allows letters, digits, dots and dashes. */
const id = (kind: string, name: string): string =>
  `SPDXRef-${kind}-${name.replace(/[^A-Za-z0-9.-]+/g, '-').replace(/^-/, '')}`

function hexOf(integrity: string): string {
  const [algorithm, base64] = integrity.split('-')
  if (algorithm !== 'sha512' || base64 === undefined) throw new Error(`no SHA-512 in ${integrity}`)
  return Buffer.from(base64, 'base64').toString('hex')
}
