import { expect, it } from '@jest/globals'
import { EXAMPLES, exampleFile, render, tryRender } from './helm.ts'
import { podSpecs, sidecar } from './manifest.ts'
import { merged, readValues } from './values.ts'
import { withHelm } from './with-helm.ts'

withHelm('sidecar images', () => {
  const driver = merged(readValues(exampleFile('driver')), { image: { registry: '' } })
  const imageOf = (values: object): string =>
    sidecar(render({ values: merged(driver, { ...values }) }), 'attacher').image

  it.each([
    [{ image: { registry: 'example.com/own' } }, /^example\.com\/own\/csi-attacher:v/],
    [{ global: { imageRegistry: 'example.com/all/' } }, /^example\.com\/all\/csi-attacher:v/],
    [
      { image: { registry: 'example.com/own' }, global: { imageRegistry: 'example.com/all' } },
      /^example\.com\/all\/csi-attacher:v/,
    ],
    [{ image: { registry: 'example.com/own' }, global: { imageRegistry: null } }, /^example\.com\/own\//],
  ])('images come from global.imageRegistry if it is set, otherwise from image.registry: %j', (values, image) => {
    expect(imageOf(values)).toMatch(image)
  })

  it('image.registry may be empty if the repository of each image names a registry', () => {
    const values = {
      attacher: { image: { repository: 'example.com/a/csi-attacher' } },
      resizer: { image: { repository: 'example.com/b/csi-resizer' } },
    }
    expect(imageOf(values)).toMatch(/^example\.com\/a\/csi-attacher:v/)
  })

  it.each([
    [{}, 'image.registry is empty and attacher.image.repository is "csi-attacher"'],
    [
      { attacher: { image: { repository: 'example.com/csi-attacher' } } },
      'image.registry is empty and resizer.image.repository is "csi-resizer"',
    ],
    [{ process: 'one' }, 'image.registry is empty and sidecars.image.repository is "csi-sidecars"'],
  ])('the chart refuses an image without a registry: %j', (values, sentence) => {
    const rendered = tryRender({ values: merged(driver, { ...values }) })
    expect(rendered.kind === 'failed' ? rendered.error : 'rendered').toContain(sentence)
  })

  it.each(['https://example.com', 'example.com/Own', 'example.com//own', 'example.com/own images'])(
    'the chart refuses the invalid registry %s',
    (registry) => {
      const rendered = tryRender({ values: merged(driver, { image: { registry } }) })
      expect(rendered.kind === 'failed' ? rendered.error : 'rendered').toContain(
        `"${registry}/csi-attacher" cannot be fetched`,
      )
    },
  )

  it.each(['localhost:5000', 'Example.com/own', '[::1]:5000/a', 'example.com:443/a-b/c__d'])(
    'the chart accepts the registry %s',
    (registry) => {
      expect(imageOf({ image: { registry } })).toContain(`${registry}/csi-attacher:v`)
    },
  )

  it.each(EXAMPLES)('all images of examples/%s.yaml come from the registry of the example', (example) => {
    const images = podSpecs(render({ files: [exampleFile(example)] })).flatMap(({ containers }) =>
      containers.map(({ image }) => image),
    )
    expect(images.filter((image) => !image.startsWith('registry.example.com/'))).toEqual([])
  })

  it('pods have the pull Secrets of the parent chart and of the chart, each once', () => {
    const values = {
      image: { registry: 'example.com' },
      global: { imagePullSecrets: ['all', { name: 'both' }] },
      imagePullSecrets: [{ name: 'both' }, { name: 'own' }],
    }
    const [pod] = podSpecs(render({ values: merged(driver, values) }))
    expect(pod?.imagePullSecrets).toEqual([{ name: 'all' }, { name: 'both' }, { name: 'own' }])
  })

  it('pods have no pull Secret by default', () => {
    expect(podSpecs(render({ files: [exampleFile('driver')] }))[0]).not.toHaveProperty('imagePullSecrets')
  })
})
