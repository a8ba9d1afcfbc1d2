from forager.strategies.weigher.strategy import Weigher as Weigher
