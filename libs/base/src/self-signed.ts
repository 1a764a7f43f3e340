import { generateKeyPairSync, sign } from 'node:crypto'

/** A self-signed certificate and its key, in PEM. */
export interface SelfSigned {
  readonly cert: string
  readonly key: string
}

/** The names and addresses of a self-signed certificate. */
export interface SelfSignedOptions {
  readonly commonName: string
  readonly dnsNames: readonly string[]
  /** The IP addresses of the certificate, each as 4 or 16 bytes. */
  readonly addresses: readonly (readonly number[])[]
  /** The current time in milliseconds since 1970. */
  readonly now: number
  /** The number of days for which the certificate is valid. */
  readonly days: number
}

const DAY_MS = 24 * 60 * 60 * 1000
const ECDSA_WITH_SHA256 = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]
const COMMON_NAME = [0x55, 0x04, 0x03]
const BASIC_CONSTRAINTS = [0x55, 0x1d, 0x13]
const SUBJECT_ALTERNATIVE_NAME = [0x55, 0x1d, 0x11]
/** The maximum length of a common name in X.509. */
const MAX_NAME_LENGTH = 64

/**
 * Creates a self-signed certificate and its key as PEM, valid from one day before `now`. Node cannot create
 * certificates, so this file encodes the DER.
 */
export function selfSignedCertificate(options: SelfSignedOptions): SelfSigned {
  const { commonName, now, days } = options
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = sequence(oid(ECDSA_WITH_SHA256))
  const name = sequence(set(sequence(oid(COMMON_NAME), utf8(commonName.slice(0, MAX_NAME_LENGTH)))))
  const body = sequence(
    context(0, integer([2])),
    integer([...Buffer.from(String(now))]),
    algorithm,
    name,
    sequence(time(now - DAY_MS), time(now + days * DAY_MS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    context(3, sequence(authority(), alternativeNames(options))),
  )
  const signature = sign('sha256', body, privateKey)
  const certificate = sequence(body, algorithm, tagged(0x03, Buffer.from([0]), signature))
  const lines = certificate.toString('base64').replace(/.{1,64}/g, '$&\n')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

function authority(): Buffer {
  const isAuthority = sequence(tagged(0x01, Buffer.from([0xff])))
  return sequence(oid(BASIC_CONSTRAINTS), tagged(0x01, Buffer.from([0xff])), tagged(0x04, isAuthority))
}

function alternativeNames({ dnsNames, addresses }: SelfSignedOptions): Buffer {
  const names = dnsNames.map((name) => tagged(0x82, Buffer.from(name)))
  const numbers = addresses.map((address) => tagged(0x87, Buffer.from(address)))
  return sequence(oid(SUBJECT_ALTERNATIVE_NAME), tagged(0x04, sequence(...names, ...numbers)))
}
/** Encodes a DER element: a tag, the length of the content, the content. */
function tagged(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents)
  return Buffer.concat([Buffer.from([tag, ...encodedLength(content.length)]), content])
}

function encodedLength(length: number): readonly number[] {
  if (length < 0x80) return [length]
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
}

function sequence(...elements: readonly Buffer[]): Buffer {
  return tagged(0x30, ...elements)
}

function set(...elements: readonly Buffer[]): Buffer {
  return tagged(0x31, ...elements)
}

function context(number: number, content: Buffer): Buffer {
  return tagged(0xa0 + number, content)
}

function integer(bytes: readonly number[]): Buffer {
  return tagged(0x02, Buffer.from(bytes))
}

function oid(bytes: readonly number[]): Buffer {
  return tagged(0x06, Buffer.from(bytes))
}

function utf8(text: string): Buffer {
  return tagged(0x0c, Buffer.from(text))
}

/** Encodes a GeneralizedTime. The other time format of DER, UTCTime, has only two digits for the year. */
function time(ms: number): Buffer {
  const text = `${new Date(ms).toISOString().slice(0, 19).replace(/\D/g, '')}Z`
  return tagged(0x18, Buffer.from(text))
}
