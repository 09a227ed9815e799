"""Re-ranking: texts and scores in, an order out.

n_best_lists         reads n-best lists in Moses format
combine_scores       their score + weight * ours, with the weight tuned for BLEU
minimum_bayes_risk   minimum Bayes risk: the output closest to all others
"""
