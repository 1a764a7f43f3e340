import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { type Descriptor, digestOf, jsonOf, type Manifest, MEDIA } from '../../tools/layout.ts'
import type { Registry } from '../registry.ts'
import { SIGNATURE, type Signer, type Statement } from '../signer.ts'

const ANNOTATION = 'dev.cosignproject.cosign/signature'
const SIGNED = 'application/vnd.dev.cosign.simplesigning.v1+json'
const ATTESTED = 'application/vnd.dsse.envelope.v1+json'
const PAYLOAD = 'application/vnd.in-toto+json'
const TYPES = { spdxjson: 'https://spdx.dev/Document', openvex: 'https://openvex.dev/ns' } as const

interface Envelope {
  readonly payload: string
  readonly signatures: readonly { readonly sig: string }[]
}

/**
 * Signs with a key of its own, since a rehearsal has no identity that an outside service would vouch for. What it stores
 * has the form of cosign: beside the image, at tags made from its digest.
 */
export class LocalSigner implements Signer {
  readonly #registry: Registry
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })

  constructor(registry: Registry) {
    this.#registry = registry
  }

  /** For `cosign verify --key`. */
  publicKey(): string {
    return this.#keys.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  }

  async isSigned(subject: string): Promise<boolean> {
    const { repository, digest, tag } = placeOf(subject, 'sig')
    for (const layer of await this.#layers(repository, tag)) {
      const content = await this.#registry.blob(repository, layer)
      const holds = this.#holds(content, layer.annotations?.[ANNOTATION] ?? '')
      if (holds && content.includes(`"docker-manifest-digest":"${digest}"`)) return true
    }
    return false
  }

  async sign(subject: string): Promise<void> {
    const { repository, digest, tag, name } = placeOf(subject, 'sig')
    const critical = {
      identity: { 'docker-reference': name },
      image: { 'docker-manifest-digest': digest },
      type: 'cosign container image signature',
    }
    const content = jsonOf({ critical, optional: null })
    await this.#append({
      repository,
      tag,
      content,
      mediaType: SIGNED,
      annotations: { [ANNOTATION]: this.#sign(content) },
    })
  }

  async isAttested(subject: string, { type, file }: Statement): Promise<boolean> {
    const { repository, digest, tag } = placeOf(subject, 'att')
    const said = jsonOf(statementOf(digest, { type, file }))
    for (const layer of await this.#layers(repository, tag)) {
      const { payload, signatures } = JSON.parse((await this.#registry.blob(repository, layer)).toString()) as Envelope
      const content = Buffer.from(payload, 'base64')
      const same = isDeepStrictEqual(JSON.parse(content.toString()), JSON.parse(said.toString()))
      if (same && this.#holds(envelopeText(content), signatures[0]?.sig ?? '')) return true
    }
    return false
  }

  async attest(subject: string, statement: Statement): Promise<void> {
    const { repository, digest, tag } = placeOf(subject, 'att')
    const payload = jsonOf(statementOf(digest, statement))
    const signatures = [{ keyid: '', sig: this.#sign(envelopeText(payload)) }]
    const content = jsonOf({ payloadType: PAYLOAD, payload: payload.toString('base64'), signatures })
    const annotations = { [ANNOTATION]: '', predicateType: TYPES[statement.type] }
    await this.#append({ repository, tag, content, mediaType: ATTESTED, annotations })
  }

  async signFile(file: string): Promise<void> {
    const bundle = `${file}${SIGNATURE}`
    if (existsSync(bundle)) {
      const { base64Signature } = JSON.parse(readFileSync(bundle, 'utf8')) as { readonly base64Signature: string }
      if (this.#holds(readFileSync(file), base64Signature)) return
    }
    writeFileSync(bundle, jsonOf({ base64Signature: this.#sign(readFileSync(file)) }))
  }

  #sign(content: Buffer): string {
    return sign('sha256', content, this.#keys.privateKey).toString('base64')
  }

  #holds(content: Buffer, signature: string): boolean {
    return verify('sha256', content, this.#keys.publicKey, Buffer.from(signature, 'base64'))
  }

  async #layers(repository: string, tag: string): Promise<readonly Descriptor[]> {
    const found = await this.#registry.manifest(repository, tag)
    return found === undefined ? [] : (JSON.parse(found.content.toString()) as Manifest).layers
  }

  async #append({ repository, tag, content, mediaType, annotations }: Appended): Promise<void> {
    const config = jsonOf({ architecture: '', os: '', config: {}, rootfs: { type: 'layers', diff_ids: [] } })
    for (const blob of [config, content]) await this.#registry.putBlob(repository, blob)
    const descriptor = { mediaType, digest: digestOf(content), size: content.length, annotations }
    const manifest: Manifest = {
      schemaVersion: 2,
      mediaType: MEDIA.manifest,
      config: { mediaType: MEDIA.imageConfig, digest: digestOf(config), size: config.length },
      layers: [...(await this.#layers(repository, tag)), descriptor],
    }
    await this.#registry.putManifest(repository, tag, { mediaType: MEDIA.manifest, content: jsonOf(manifest) })
  }
}

interface Appended {
  readonly repository: string
  readonly tag: string
  readonly content: Buffer
  readonly mediaType: string
  readonly annotations: Readonly<Record<string, string>>
}

function placeOf(subject: string, kind: 'sig' | 'att') {
  const [name = '', digest = ''] = subject.split('@')
  const repository = name.slice(name.indexOf('/') + 1)
  return { name, repository, digest, tag: `${digest.replace(':', '-')}.${kind}` }
}

function statementOf(digest: string, { type, file }: Statement): object {
  return {
    _type: 'https://in-toto.io/Statement/v0.1',
    predicateType: TYPES[type],
    subject: [{ name: '', digest: { sha256: digest.replace('sha256:', '') } }],
    predicate: JSON.parse(readFileSync(file, 'utf8')) as unknown,
  }
}

/** What is signed of an envelope: https://github.com/secure-systems-lab/dsse */
function envelopeText(payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`DSSEv1 ${PAYLOAD.length} ${PAYLOAD} ${payload.length} `), payload])
}
